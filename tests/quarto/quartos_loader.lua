-- Runs the extension's filter as Quarto 1.4 to 1.11 do: in an environment of its own, at the
-- place for users' filters, where the elements are Quarto's, with an `error` that only prints.

quarto = { doc = { input_file = os.getenv("TEST_INPUT") } }

function error(message) io.stderr:write("ERROR ", tostring(message), "\n") end

function run_as_extended_ast(list)
  local function run(doc)
    for _, step in ipairs(list.filters) do doc = step.filter.Pandoc and step.filter.Pandoc(doc) or doc end
    return doc
  end
  return { { Pandoc = run } }
end
if os.getenv("TEST_OTHER_QUARTO") then
  run_list, run_as_extended_ast = run_as_extended_ast, nil
end

-- Quarto's elements: a filter that comes after this sees no class and no metadata.
local function parse(doc)
  return doc:walk { Div = function(div) return pandoc.Div(div.content, { class = "__quarto_custom" }) end }
end

local own = setmetatable({}, { __index = function(_, name) return _G[name] end })
rawset(own, "_G", _G)
assert(loadfile(os.getenv("TEST_SHIM"), "t", own))()
return (run_as_extended_ast or run_list) {
  filters = { { filter = {} }, { filter = { Pandoc = parse } }, { filter = { Pandoc = own.Pandoc } } },
}
