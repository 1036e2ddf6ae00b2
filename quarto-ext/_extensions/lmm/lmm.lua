-- Hand each page to `lmm-knit`, which leaves metadata and RAG-only material out of it, before
-- Quarto does anything with the page. If that fails, no page is made.

local ASKED = "lmm-asked" -- a key of the metadata that `lmm-knit` removes, which shows that it ran

-- End pandoc, so that nothing is written. In Quarto, `error` only prints, and an error that is
-- thrown may be caught: the document would go on with everything in it.
local function stop(message)
  -- the reason may quote the document, whose control characters must not reach the terminal
  local shown = ("LM markdown: The page was not made. " .. message):gsub("[%z\1-\8\11-\31\127]", "")
  io.stderr:write(shown:gsub("\194[\128-\159]", ""), "\n")
  os.exit(83) -- pandoc's own status when a filter fails
end

-- Return the environment with the name of the file that Quarto renders, which its older versions
-- do not set.
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
  return file and file:read(0) ~= nil and file:close() -- reading fails if the path is a folder
end

-- Return the path of `lmm-knit`: on PATH, beside Quarto's Python, or in the project's own
-- environment. Relative folders on PATH do not count: they could lead to a file of that name beside
-- the document.
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

-- Return the document without what `lmm-knit` leaves out.
local function leave_out(doc)
  local env = environment()
  local command = find_knit(env)
  if not command then
    stop("The command lmm-knit, which leaves RAG-only material out, was not found. Install the package "
      .. "lmm-markdown (where the course has a requirements.txt: `pip install -r requirements.txt`) in the environment "
      .. "that is active when Quarto runs.")
  end
  doc.meta[ASKED] = true
  local done, result = pcall(pandoc.system.with_environment, env, function()
    return pandoc.utils.run_json_filter(doc, command, { FORMAT })
  end)
  if not done then
    local reason = tostring(result):gsub("^Error running filter [^\n]*\n", ""):gsub("%s+", " "):gsub("[%s.]+$", "")
    stop(command .. " has failed (" .. reason .. "). Its own messages stand above.")
  elseif result.meta[ASKED] ~= nil then
    stop(command .. " is not the lmm-knit of LM markdown. Rename it, or install a newer lmm-markdown.")
  end
  return result
end

-- Quarto hands the filters of an extension its own elements (callouts, tabs, conditions), in
-- which metadata blocks no longer stand before the text that they annotate. From 1.4 on, all
-- filters are one list that passes through this function. Ours is put first in it, so that it
-- sees the document as pandoc has read it. (Since 1.9.36 an extension can ask for that place by
-- `at: pre-ast`, which older versions refuse.)
local is_done = false
local run_filters = quarto and _G.run_as_extended_ast
if run_filters then
  _G.run_as_extended_ast = function(list)
    local function first(doc)
      local done, result = pcall(leave_out, doc)
      if not done then stop("The extension has failed (" .. tostring(result) .. ").") end
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
    stop("This version of Quarto runs filters in a way that the extension does not know. "
      .. "Update the extension, or use an older Quarto.")
  end
end
