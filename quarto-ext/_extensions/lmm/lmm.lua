-- Hands each page to `lmm-knit`, which leaves metadata and RAG-only material out of it, before
-- Quarto does anything with it. Where that fails, no page is made.

local ASKED = "lmm-asked" -- a key of the metadata that `lmm-knit` takes out: it shows that it ran

-- End pandoc, so that nothing is written. In Quarto `error` only prints, and what is thrown
-- may be caught: the document would go on as it was.
local function stop(message)
  -- the reason may quote the document: it must not steer the terminal
  local shown = ("LM markdown: the page is not made: " .. message):gsub("[%z\1-\8\11-\31\127]", "")
  io.stderr:write(shown:gsub("\194[\128-\159]", ""), "\n")
  os.exit(83) -- as pandoc ends where a filter fails
end

-- The environment, in which the file that Quarto renders is named: its older versions do not.
local function environment()
  local env = pandoc.system.environment()
  local input = quarto and quarto.doc and quarto.doc.input_file
  if input then
    env.QUARTO_DOCUMENT_PATH, env.QUARTO_DOCUMENT_FILE = pandoc.path.directory(input), pandoc.path.filename(input)
  end
  return env
end

local function is_file(path)
  local file = io.open(path)
  return file and file:read(0) ~= nil and file:close() -- of a folder nothing can be read
end

-- The file of `lmm-knit`: on PATH, beside Quarto's Python, or in the project's own
-- environment. A file of that name in the folder of the document is none.
local function find_knit(env)
  local folders = pandoc.path.split_search_path(env.PATH or env.Path or "")
  if env.QUARTO_PYTHON then table.insert(folders, pandoc.path.directory(env.QUARTO_PYTHON)) end
  local project = env.QUARTO_PROJECT_DIR or "."
  table.insert(folders, pandoc.path.join { project, ".venv", "bin" })
  table.insert(folders, pandoc.path.join { project, ".venv", "Scripts" })
  for _, folder in ipairs(folders) do
    for _, name in ipairs { "lmm-knit", "lmm-knit.exe" } do
      local path = pandoc.path.join { folder, name }
      local is_sure = pandoc.path.is_absolute(folder) or folder:find(".venv", 1, true)
      if is_sure and is_file(path) then return path end
    end
  end
end

-- The document without what `lmm-knit` leaves out.
local function leave_out(doc)
  local env = environment()
  local command = find_knit(env)
  if not command then
    stop("lmm-knit, which leaves RAG-only material out, is not found. pip install lmm-markdown "
      .. "in the environment that is active when Quarto runs")
  end
  doc.meta[ASKED] = true
  local done, result = pcall(pandoc.system.with_environment, env, function()
    return pandoc.utils.run_json_filter(doc, command, { FORMAT })
  end)
  if not done then
    local reason = tostring(result):gsub("^Error running filter [^\n]*\n", ""):gsub("%s+", " "):gsub("[%s.]+$", "")
    stop(command .. " has failed (" .. reason .. "). What it has said stands above.")
  elseif result.meta[ASKED] ~= nil then
    stop(command .. " is not the lmm-knit of LM markdown: rename it, or pip install -U lmm-markdown")
  end
  return result
end

-- Quarto hands the filters of an extension its own elements (callouts, tabs, conditions), in
-- which blocks no longer stand before what they annotate. Its filters, from 1.4 on, are one
-- list that goes through this function: ours stands first in it, and sees what was read.
-- (An extension can ask for that place, `at: pre-ast`, since 1.9.36; older ones refuse it.)
local is_done = false
local run_filters = quarto and _G.run_as_extended_ast
if run_filters then
  _G.run_as_extended_ast = function(list)
    local function first(doc)
      local done, result = pcall(leave_out, doc)
      if not done then stop("the extension has failed (" .. tostring(result) .. ")") end
      is_done = true
      return result
    end
    table.insert(list.filters, 1, { name = "lmm", filter = { Pandoc = first }, traverser = "walk" })
    return run_filters(list)
  end
end

function Pandoc(doc)
  if not quarto then return leave_out(doc) end
  if not is_done then
    stop("this version of Quarto runs filters in a way that the extension does not know. "
      .. "Update the extension, or use an older Quarto")
  end
end
