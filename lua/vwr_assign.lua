-- Issues n positions, in one go, or as many of them as may be.  The tickets'
-- times are those of the event's clock, one each, in the order of the positions.
-- Keys, further arguments and the answer are those of vwr_lib.lua: the result is
-- the first position (0: the waiting room is not active, or takes no more), at
-- its ticket's time.
--
-- n; how many may wait (-1: any number), and for how long, s (0: any time);
-- measured: the rate that hosts estimate that by, in 1/1000 a second, -1: none.
-- args: n max_queue max_wait measured
--
-- user: whose lot it is, of which each has one an activation, '': nobody's.
-- args: user
-- keys: lots
--
-- issued: how many were; full: what is in the way of the others, 0 nothing, 1 how
-- many wait, 2 how long they would, 3 the sale is not open yet, 4 it is closed, 5
-- no lot is given out before the commitment to the secret of its draw is here.
-- reply: issued full

-- @include vwr_lib.lua

local n, most, longest = ARG.n + 0, ARG.max_queue + 0, ARG.max_wait + 0
local issued, full = n, 0


-- at most so many ahead of the last position issued
function v.bound(ahead, why)
  local room = math.max(0, v.serving + ahead - v.next)
  if room < issued then
    issued, full = room, why
  end
end

-- the same as ngx_adm_room_estimate()
function v.estimated_rate()
  local rate = ARG.measured + 0
  if rate <= 0 then
    rate = v.rate_in_force() * 1000
  end
  return rate > 0 and rate or math.max(ARG.rate + 0, 1) * 1000
end

function v.told(first, at)
  local answer = v.reply(first, at)
  answer[REPLY.issued] = issued
  answer[REPLY.full] = full
  return answer
end


v.hear_host()
v.hear_draw()

if not v.has_come(v.opens) then
  issued, full = 0, 3
  return v.told(0, 0)
end

v.open()
v.reach()
v.draw()

-- a lot that a user has already is theirs, even if the room is full, or closed
if ARG.user ~= '' and v.active == 1 then
  local of, position, at = string.match(call('HGET', KEY.lots, ARG.user) or '',
                                        '^(%d+) (%d+) (%d+)$')
  if of == v.int(v.activation) and position + 0 <= v.next then
    return v.told(position + 0, at + 0)
  end
end

if v.closes > 0 and v.has_come(v.closes) then
  issued, full = 0, 4
  return v.told(0, 0)
end

if v.active == 0 then
  return v.told(0, 0)
end

if v.order > 0 and v.drawn == 0 and v.committed == 0 then
  issued, full = 0, 5
  return v.told(0, 0)
end

v.pass_by()

if most >= 0 then
  v.bound(most, 1)
end
if longest > 0 then
  v.bound(math.floor(longest * v.estimated_rate() / 1000), 2)
end

if issued == 0 then
  return v.told(0, 0)
end

local first, at = v.next + 1, v.tick(issued)

v.next = v.next + issued
v.write('next')

if ARG.user ~= '' then
  call('HSET', KEY.lots, ARG.user, v.int(v.activation) .. ' ' .. v.int(first)
                                   .. ' ' .. v.int(at))
  call('EXPIRE', KEY.lots, WEEK)
end

return v.told(first, at)
