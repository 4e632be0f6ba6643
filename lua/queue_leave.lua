-- @include queue_lib.lua
--
-- A user leaves, at once, or (a beacon of a page that unloads, which a
-- refresh sends too) once no heartbeat has come for a while.

local user, beacon = ARGV[17], ARGV[18] == '1'

hear_host()
touch_all()

if not beacon then
  live()
  depart(user)

elseif call('ZSCORE', QUEUE, user) or call('ZSCORE', ACTIVE, user) then
  call('ZADD', LEAVING, int(ms + BEACON), user)
  touch(LEAVING)
end

return reply(NOT_IN)
