-- Leaves metadata and RAG-only material out of a page, or stops the render.
--
-- Blocks that say nothing about what is shown are taken out here: starting Python costs a
-- page a quarter of a second. Whatever may leave text out goes to `lmm-knit`, which alone
-- knows all the rules. No page is made unless one of the two has seen it.

local ASKED = "lmm-asked" -- a key of the metadata that `lmm-knit` takes out: it shows that it ran

local function set(words)
  local found = {}
  for word in words:gmatch("%S+") do found[word] = true end
  return found
end
local RAG_ONLY = set "exercise topic rag-only"
local OURS = set "type questions skip frozen knit chat lmm model docid titles ? query + message = edit"

-- End pandoc, so that nothing is written. In Quarto `error` only prints, and what is thrown
-- may be caught: the document would go on as it was.
local function stop(message)
  -- the reason may quote the document: it must not steer the terminal
  local shown = ("LM markdown: the page is not made: " .. message):gsub("[%z\1-\8\11-\31\127]", ""):gsub("\194[\128-\159]", "")
  io.stderr:write(shown, "\n")
  os.exit(83) -- as pandoc ends where a filter fails
end

-- The environment, in which the file that Quarto renders is named: versions before 1.9 do not.
local function environment()
  local env = pandoc.system.environment()
  local input = quarto and quarto.doc and quarto.doc.input_file
  if input then
    env.QUARTO_DOCUMENT_PATH, env.QUARTO_DOCUMENT_FILE = pandoc.path.directory(input), pandoc.path.filename(input)
  end
  return env
end

-- Whether a file of settings may say what is left out: it does, or nobody can tell.
local function mentions_knit(path)
  local file, _, number = io.open(path)
  if not file then return number ~= 2 and number ~= 20 end -- there, but not to be opened
  local text = file:read("a")
  file:close()
  return not text or text:find("knit", 1, true) or text:find("\\", 1, true)
end

-- Whether options or settings may name more classes that are RAG-only.
local function names_classes(meta, env)
  local lmm = type(meta.lmm) == "table" and meta.lmm or {}
  local found = lmm["div-types"] or lmm["div_types"] or meta["lmm-div-types"] or meta["lmm-div_types"]
  for name in pairs(env) do found = found or name:upper():match("^LMM_KNIT") end
  local folder, above = env.QUARTO_DOCUMENT_PATH or pandoc.system.get_working_directory(), nil
  while folder ~= above do
    found = found or mentions_knit(pandoc.path.join { folder, "config.toml" })
    folder, above = pandoc.path.directory(folder), folder
  end
  return found
end

-- The document without metadata blocks, and whether more than these may have to go.
local function strip(doc, env)
  local any_class, more = names_classes(doc.meta, env), doc.meta.type ~= nil or doc.meta.knit ~= nil
  local function look(text)
    more = more or text:find("type", 1, true) or text:find("knit", 1, true) or text:find("\\", 1, true)
    return {}
  end
  local rest = doc:walk {
    RawBlock = function(raw) return raw.format == "lmm" and look(raw.text) or nil end,
    Div = function(div)
      more = more or div.attributes.knit or div.classes:find_if(function(name) return RAG_ONLY[name] end)
      if div.classes:includes("lmm") then
        for _, inside in ipairs(div.content) do look(inside.tag == "CodeBlock" and inside.text or "type") end
        return {}
      end
      local quartos = div.identifier:match("^quarto%-") and div.classes:includes("hidden")
      more = more or (any_class and #div.classes > 0 and not quartos)
    end,
  }
  return rest, more
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
      local in_path = pandoc.path.is_absolute(folder) or folder:find(".venv", 1, true)
      if in_path and is_file(path) then return path end
    end
  end
end

-- The document without what `lmm-knit` leaves out.
local function knit(doc, env)
  local command = find_knit(env)
  if not command then
    stop("lmm-knit, which leaves RAG-only material out, is not found. pip install lmm-markdown in the environment that is active when Quarto runs")
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

local function leave_out(doc)
  local env = environment()
  local rest, more = strip(doc, env)
  if more then return knit(doc, env) end
  local meta = {}
  for key, value in pairs(doc.meta) do
    if not (OURS[key] or key:match("^~") or key:match("=$") or key:match("^lmm%-")) then meta[key] = value end
  end
  rest.meta = meta
  return rest
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
