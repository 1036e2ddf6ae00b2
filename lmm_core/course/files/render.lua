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

-- A page whose title is its first heading: it is no part of the page's contents.
local function take_title(doc)
  local first = doc.blocks[1]
  if doc.meta.title or not first or first.t ~= "Header" or first.level ~= 1 then return end
  doc.meta.title = pandoc.MetaInlines(first.content)
  doc.meta["title-id"] = first.identifier
  doc.blocks:remove(1)
end

local function count_headings(doc)
  local count = 0
  doc:walk { Header = function(el) if el.level <= 3 then count = count + 1 end end }
  return count
end

local function make(page)
  local source = page.source
  local doc = pandoc.read(source.text, "markdown", { strip_comments = true }, {}) -- the last: the text reads no file
  for _, key in ipairs(KEYS) do doc.meta[key] = nil end
  doc.meta.lang, doc.meta.pagetitle = source.language, page.title
  page.frame["toc-title"] = page.words.toc
  take_title(doc)
  doc = doc:walk(site_filter(page.words))
  if #source.works > 0 and cites(doc) then
    doc.meta.bibliography = source.works
    if source.style ~= "" then doc.meta.csl = source.style end
    doc.meta["reference-section-title"] = doc.meta["reference-section-title"] or page.words.references
    doc = pandoc.utils.citeproc(doc)
  end
  return pandoc.write(doc, "html5", {
    template = template, table_of_contents = count_headings(doc) > 1, toc_depth = 3, html_math_method = "mathml",
    wrap_text = "preserve", variables = page.frame,
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
