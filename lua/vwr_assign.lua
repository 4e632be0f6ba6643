-- Issues n positions, in one go.  The tickets' times are those of the event's
-- clock, one each, in the order of the positions.  Keys, further arguments and
-- the answer are those of vwr_lib.lua: the result is the first position (0: the
-- waiting room is not active), at its ticket's time.
--
-- args: n

-- @include vwr_lib.lua

local n = ARG.n + 0

v.hear_host()

if v.active == 0 then
  return v.reply(0, 0)
end

local first, at = v.next + 1, v.tick(n)

v.next = v.next + n
v.write('next')

return v.reply(first, at)
