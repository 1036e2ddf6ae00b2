-- Make HTML of many pages in one process, since pandoc takes most of its time to start: read a job as JSON from
-- standard input, and write a line of JSON for each page.

local job = pandoc.json.decode(io.read("a"), false)
local site_filter = dofile(job.filter)
local template = pandoc.template.compile(job.template)
local KEYS = { "bibliography", "csl", "citation-style", "citation-abbreviations" } -- in a header, name files

-- What pandoc says at its level INFO, which no user of pandoc sees; the level itself is not told to Lua.
local INFO = { "^Loaded ", "^Not rendering ", "^Skipped ", "^Parsing unescaped ", "^Extracting ", "^Scripting info " }

local function is_warning(message)
  for _, start in ipairs(INFO) do
    if message:find(start) then return false end
  end
  return true
end

local function cites(doc)
  local found = doc.meta.nocite ~= nil
  doc:walk { Cite = function() found = true end }
  return found
end

local function make(page)
  local doc = pandoc.read(page.text, "markdown", {}, {}) -- the last: the text reads no file
  for _, key in ipairs(KEYS) do doc.meta[key] = nil end
  doc.meta.lang, doc.meta.pagetitle = page.language, page.title
  doc = doc:walk(site_filter(job.words))
  if #page.works > 0 and cites(doc) then
    doc.meta.bibliography = page.works
    if page.style ~= "" then doc.meta.csl = page.style end
    doc.meta["reference-section-title"] = doc.meta["reference-section-title"] or job.references
    doc = pandoc.utils.citeproc(doc)
  end
  return pandoc.write(doc, "html5", {
    template = template, table_of_contents = true, toc_depth = 3, html_math_method = "mathml", wrap_text = "preserve",
  })
end

for _, page in ipairs(job.pages) do
  local messages, done, result = pandoc.log.silence(pcall, make, page)
  local line = { name = page.name, messages = pandoc.List() }
  for _, message in ipairs(messages) do
    if is_warning(message.message) then line.messages:insert(message.message) end
  end
  line[done and "html" or "problem"] = tostring(result)
  io.stdout:write(pandoc.json.encode(line), "\n")
end
