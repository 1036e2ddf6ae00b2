-- What Quarto makes of its own elements, in plain HTML: callouts, tabs, numbered figures, tables,
-- formulas and theorems, and references to them.

local words = {} -- in the language of the page, by kind

local CALLOUTS = { note = true, tip = true, warning = true, caution = true, important = true }
local THEOREMS = { thm = true, lem = true, cor = true, prp = true, cnj = true, def = true, exm = true, exr = true,
  sol = true, rem = true, alg = true }
local counts = {}

-- Return the words by which the next element of a kind is named: "Figure 2".
local function next_name(kind)
  counts[kind] = (counts[kind] or 0) + 1
  return (words[kind] or kind) .. " " .. counts[kind]
end

local function kind_of(identifier, kinds)
  local kind = identifier:match("^(%a%a%a?)%-.")
  return kind and (not kinds or kinds[kind]) and kind or nil
end

local function put_before(inlines, text)
  local joined = pandoc.List({ pandoc.Str(text .. ":"), pandoc.Space() })
  joined:extend(inlines)
  return joined
end

-- Put a name before the first paragraph of a caption.
local function name_caption(blocks, name)
  local first = blocks[1]
  if first and first.content then
    first.content = put_before(first.content, name)
  else
    table.insert(blocks, 1, pandoc.Plain({ pandoc.Str(name) }))
  end
  return blocks
end

local function Figure(el)
  if kind_of(el.identifier, { fig = true }) then
    local name = next_name("fig")
    el.attributes["data-ref"] = name
    el.caption.long = name_caption(el.caption.long, name)
    return el
  end
end

-- Older versions of pandoc leave the identifier of a table at the end of its caption.
local function take_identifier(blocks)
  local last = blocks[#blocks]
  local content = last and last.content
  local mark = content and content[#content]
  local found = mark and mark.t == "Str" and mark.text:match("^{#(tbl%-[^}%s]+)}$")
  if found then
    content:remove()
    if content[#content] and content[#content].t == "Space" then content:remove() end
    last.content = content
  end
  return found
end

local function Table(el)
  local identifier = take_identifier(el.caption.long) or el.identifier
  if not kind_of(identifier, { tbl = true }) then return nil end
  local name = next_name("tbl")
  el.caption.long = name_caption(el.caption.long, name)
  el.identifier = ""
  return pandoc.Div({ el }, pandoc.Attr(identifier, { "table" }, { ["data-ref"] = name }))
end

local function Para(el) -- a formula with a label: $$ … $$ {#eq-mean}
  for at = #el.content, 2, -1 do
    local found = el.content[at].t == "Str" and el.content[at].text:match("^{#(eq%-[^}%s]+)}")
    if found then
      local name = next_name("eq")
      local number = pandoc.Span({ pandoc.Str("(" .. counts.eq .. ")") }, pandoc.Attr("", { "number" }))
      el.content[at] = pandoc.Span({ number }, pandoc.Attr(found, { "equation" }, { ["data-ref"] = name }))
      if el.content[at - 1].t == "Space" or el.content[at - 1].t == "SoftBreak" then el.content:remove(at - 1) end
      return el
    end
  end
end

-- Return the title of a box: what its first heading says, which is then no heading of the page.
local function take_title(el)
  local title = el.attributes.title and { pandoc.Str(el.attributes.title) }
  el.attributes.title = nil
  if not title and el.content[1] and el.content[1].t == "Header" then
    title = el.content[1].content
    el.content:remove(1)
  end
  return title
end

local function callout(el, kind)
  local folds = el.attributes.collapse
  local title = take_title(el) or { pandoc.Str(words[kind] or kind) }
  el.attributes = {}
  el.classes = { "callout", "callout-" .. kind }
  local head = pandoc.Div({ pandoc.Plain(title) }, pandoc.Attr("", { "callout-title" }))
  if folds == nil then
    el.content:insert(1, head)
    return el
  end
  local open = folds == "false" and " open" or ""
  el.content:insert(1, pandoc.RawBlock("html", "</summary>"))
  el.content:insert(1, pandoc.Plain(title))
  el.content:insert(1, pandoc.RawBlock("html", "<details" .. open .. "><summary class=\"callout-title\">"))
  el.content:insert(pandoc.RawBlock("html", "</details>"))
  return el
end

-- The tabs stand one below the other, each with its title.
local function tabs(el)
  local level
  local made = pandoc.List()
  for _, block in ipairs(el.content) do
    level = level or (block.t == "Header" and block.level)
    if block.t == "Header" and block.level == level then
      made:insert(pandoc.Div({}, pandoc.Attr(block.identifier, { "tab" })))
      made[#made].content = pandoc.List({ pandoc.Div({ pandoc.Plain(block.content) }, pandoc.Attr("", { "tab-title" })) })
    elseif #made > 0 then
      local content = made[#made].content
      content:insert(block)
      made[#made].content = content
    else
      made:insert(pandoc.Div({ block }))
    end
  end
  el.content = made
  return el
end

local function theorem(el, kind)
  local name = next_name(kind)
  local title = take_title(el)
  local shown = pandoc.List({ pandoc.Strong({ pandoc.Str(name) }) })
  if title then
    shown:extend({ pandoc.Space(), pandoc.Str("(") })
    shown:extend(title)
    shown:insert(pandoc.Str(")"))
  end
  el.content:insert(1, pandoc.Div({ pandoc.Plain(shown) }, pandoc.Attr("", { "theorem-title" })))
  el.classes:insert("theorem")
  el.attributes["data-ref"] = name
  return el
end

-- A figure or table that is written as a div, whose last paragraph is its caption.
local function captioned(el, kind)
  local name = next_name(kind)
  local last = el.content[#el.content]
  if last and last.t == "Para" and #el.content > 1 then
    el.content[#el.content] = pandoc.Div({ pandoc.Plain(put_before(last.content, name)) }, pandoc.Attr("", { "caption" }))
  end
  el.attributes["data-ref"] = name
  return el
end

local function Div(el)
  for _, class in ipairs(el.classes) do
    local kind = class:match("^callout%-(%a+)$")
    if kind and CALLOUTS[kind] then return callout(el, kind) end
  end
  if el.classes:includes("panel-tabset") then return tabs(el) end
  local kind = kind_of(el.identifier)
  if kind and THEOREMS[kind] then return theorem(el, kind) end
  if (kind == "fig" or kind == "tbl") and not el.attributes["data-ref"] then return captioned(el, kind) end
end

-- A reference gets its number or title later, when those on all pages are known.
local function Cite(el)
  local made = pandoc.List()
  for at, citation in ipairs(el.citations) do
    local kind = kind_of(citation.id)
    if not kind and not citation.id:match("^sec%-") or not (words[kind] or kind == "sec") then return nil end
    if at > 1 then made:extend({ pandoc.Str(","), pandoc.Space() }) end
    if #citation.prefix > 0 then
      made:extend(citation.prefix)
      made:insert(pandoc.Space())
    end
    local attr = pandoc.Attr("", { "quarto-xref" })
    made:insert(pandoc.Link({ pandoc.Str(words[kind] or "") }, "#" .. citation.id, "", attr))
    made:extend(citation.suffix)
  end
  return made
end

-- Return the filter of a page: its figures and so on are counted anew.
return function(page_words)
  words, counts = page_words, {}
  return { Figure = Figure, Table = Table, Para = Para, Div = Div, Cite = Cite }
end
