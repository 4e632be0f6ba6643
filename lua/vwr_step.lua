-- One step of the serving counter.  Any number of workers and hosts may run
-- it: each moves it by the time since the last.  Keys, arguments and most of the
-- answer are those of vwr_lib.lua, without a result.
--
-- notice: the version of an operator's word, 0: there is none.
-- keys: notice
-- reply: notice
--
-- Of a room on standby, see vwr_standby_lib.lua; standby: 1: it is one by the
-- configuration; wanting: visitors whom the host holds up for want of positions,
-- or sent to the page since the last step; spare: how many it would have in hand
-- besides; back: how many it gives back, of those it had; have: how many it still
-- has; host_seen: as seen, -1: not known.
-- args: standby wanting spare back have host_seen
--
-- seen: since when the room shows, us of Redis, 0: it does not; granted: how many
-- visitors the host may let in, besides those that it still has.
-- reply: seen granted

-- @include vwr_lib.lua
-- @include vwr_standby_lib.lua

-- What is issued a second, of late: the peak, halved each second.
function v.measure()
  local elapsed = v.us - v.issue_at
  if elapsed >= 0 and elapsed < 1000000 then
    return
  end
  local issued = 0
  if elapsed > 0 then
    issued = math.ceil((v.next - v.issue_next) * 1000000 / elapsed)
  end
  v.issue = math.max(issued, math.floor(v.issue / 2))
  v.issue_next, v.issue_at = v.next, v.us
  v.write('issue', 'issue_next', 'issue_at')
end


v.hear_host()
v.hear_draw()
v.open()
v.reach()
v.draw()

v.standby_look()

if v.active == 1 then
  v.move()
  v.rate = v.rate_in_force()
  v.write('serving', 'part', 'updated', 'rate')
  v.measure()
  if v.ms - v.touched > 3600000 or v.ms < v.touched then
    v.touch()
  end
end

local seen, granted = v.standby_grant()

-- of whatever type it is
local notice = redis.pcall('HMGET', KEY.notice, 'version', 'at')
local answer = v.reply(0, 0)
answer[REPLY.notice] = (not notice.err and notice[2] and notice[2] ~= '0'
                        and notice[1] or 0) + 0
answer[REPLY.seen] = seen
answer[REPLY.granted] = granted
return answer
