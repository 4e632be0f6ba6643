-- An operator, or the configuration, looks, toggles, sets the rate, or moves
-- the counter.  A change ends the time before it, at what was in force then;
-- what changes nothing writes nothing, and tells of nothing that is not kept.
-- Keys, further arguments and the answer are those of vwr_lib.lua; the result
-- is 1 if something changed, of "advance" by how much; -1: it is refused, since
-- the sale gathers.
--
-- what: look, activate, restart, resume, deactivate, advance (by value), rate
-- (to value, a second), unrate, config (activates, as the configuration has it)
-- args: what value

-- @include vwr_lib.lua

local what, value = ARG.what, ARG.value + 0

seldom()


function v.decide(active, set_by)
  v.changed = v.tick(1)
  v.active = active
  v.set_by = set_by
  v.save()
  return 1
end

function v.activate(resume, set_by)
  local nothing = v.activation == 0
  if nothing or not resume then
    v.begin(v.tick(1))
  end
  if nothing and set_by == 'config' then
    v.began = v.ms
  end
  v.updated = v.us
  return v.decide(1, set_by)
end

function v.deactivate()
  v.move()
  return v.decide(0, v.set_by)
end

function v.set_rate(rate)
  v.move()
  v.api_rate = rate
  return v.decide(v.active, v.set_by)
end

function v.advance()
  v.move()
  local by = math.max(0, math.min(value, v.next - v.serving))
  if v.waits() then
    by = 0
  end
  if by > 0 then
    v.hand_from = v.hand_to == v.serving and v.hand_from or v.serving
    v.hand_to = v.serving + by
  end
  v.serving = v.serving + by
  if v.activation > 0 then
    v.save()
  end
  return by
end

-- Whether tickets are out and nobody is let in.  Times that the configuration
-- alone gives may be unknown here: the host that calls knows those.
function v.gathers()
  return (sale.opens >= 0 or ARG.opens ~= '-1')
         and v.has_come(v.opens) and not v.has_come(v.starts)
         or v.active == 1 and v.order > 0 and v.is_early()
end

function v.act()
  if (what == 'restart' or what == 'deactivate') and v.gathers() then
    return -1
  end

  if what == 'restart' then
    return v.activate(false, 'api')

  elseif what == 'activate' or what == 'resume' or what == 'config' then
    if v.active == 1 then
      return 0
    end
    return v.activate(what ~= 'activate', what == 'config' and what or 'api')

  elseif what == 'deactivate' then
    return v.active == 1 and v.deactivate() or 0

  elseif what == 'advance' then
    return v.advance()

  elseif what == 'rate' then
    return v.set_rate(value)

  elseif what == 'unrate' then
    return v.api_rate >= 0 and v.set_rate(-1) or 0
  end

  return 0
end


v.hear_host()
v.hear_draw()
v.open()
v.draw()

return v.reply(v.act(), 0)
