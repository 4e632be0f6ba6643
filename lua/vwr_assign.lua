-- @include vwr_lib.lua
--
-- Issues so many positions, in one go.  The tickets' times are those of the
-- event's clock, one each, in the order of the positions.

local n = ARGV[12] + 0

v.hear_host()

if v.active == 0 then
  return v.reply(0, 0)
end

local first, at = v.next + 1, v.tick(n)

v.next = v.next + n
v.write('next')

return v.reply(first, at)
