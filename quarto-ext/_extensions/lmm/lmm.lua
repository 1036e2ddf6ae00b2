-- Leaves metadata and RAG-only material out of a page. Taking out blocks that say nothing
-- about what is shown is done here: starting Python costs a page a quarter of a second.
-- Whatever may leave text out goes to `lmm-knit`, which alone knows all the rules.

local function set(words)
  local found = {}
  for word in words:gmatch("%S+") do found[word] = true end
  return found
end
local RAG_ONLY = set "exercise topic rag-only"
local OURS = set "type questions skip frozen knit chat lmm model docid titles ? query + message = edit"
local INSTALL = "LM markdown: lmm-knit, which leaves RAG-only material out, is not found: "
  .. "pip install lmm-markdown in the environment that is active when Quarto runs"

local function read(...)
  local file = io.open(pandoc.path.join { ... })
  local text = file and file:read("a")
  return file and file:close() and text
end

-- Whether options or settings may name more classes that are RAG-only.
local function names_classes(meta, env)
  local lmm = type(meta.lmm) == "table" and meta.lmm or {}
  local found = lmm["div-types"] or lmm["div_types"] or meta["lmm-div-types"] or meta["lmm-div_types"]
  for name in pairs(env) do found = found or name:upper():match("^LMM_KNIT") end
  local folder, above = env.QUARTO_DOCUMENT_PATH or pandoc.system.get_working_directory(), nil
  while folder ~= above do
    found = found or (read(folder, "config.toml") or ""):find("div_types", 1, true)
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

-- `lmm-knit` on PATH, beside Quarto's Python, or in the project's own environment.
local function knit(doc, env)
  local commands, project = { "lmm-knit" }, env.QUARTO_PROJECT_DIR or "."
  local folders = { { project, ".venv", "bin" }, { project, ".venv", "Scripts" } }
  if env.QUARTO_PYTHON then table.insert(folders, 1, { pandoc.path.directory(env.QUARTO_PYTHON) }) end
  for _, folder in ipairs(folders) do
    for _, name in ipairs { "lmm-knit", "lmm-knit.exe" } do
      local path = pandoc.path.join { pandoc.path.join(folder), name }
      if read(path) then table.insert(commands, path) end
    end
  end
  for _, command in ipairs(commands) do
    local done, result = pcall(pandoc.utils.run_json_filter, doc, command, { FORMAT })
    if done then return result end
    -- what failed may quote the document: it must not steer the terminal
    local shown = tostring(result):gsub("[%z\1-\8\11-\31\127]", ""):gsub("\194[\128-\159]", "")
    if not shown:find("Could not find executable", 1, true) then error(shown, 0) end
  end
  error(INSTALL, 0)
end

function Pandoc(doc)
  local env = pandoc.system.environment()
  local rest, more = strip(doc, env)
  if more then return knit(doc, env) end
  local meta = {}
  for key, value in pairs(doc.meta) do
    if not (OURS[key] or key:match("^~") or key:match("=$") or key:match("^lmm%-")) then meta[key] = value end
  end
  rest.meta = meta
  return rest
end
