-- A user leaves, at once, or (a beacon of a page that unloads, which a
-- refresh sends too) once no heartbeat has come for 10 s.  Keys, further
-- arguments and the answer are those of queue_state_lib.lua.
--
-- beacon: 1 or 0; held: what the user shows, 0 nothing, 1 a place, 2 an entry
-- token
-- args: user beacon held

-- @include queue_state_lib.lua
-- @include queue_lib.lua

local user, beacon, held = ARG.user, ARG.beacon == '1', ARG.held + 0

q.hear_host()
q.touch_all()

if not beacon then
  q.did = q.depart(user, held) * LEFT + (q.revoked and REVOKED or 0)

elseif call('ZSCORE', k.queue, user) or call('ZSCORE', k.active, user) then
  q.note_going(user, q.ms, 10000)
  call('HSET', k.state, 'beacon', q.int(q.ms))
  q.touch(k.leaving)
end

return q.reply(NOT_IN)
