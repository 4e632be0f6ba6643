-- Users join who came together, in the order in which they did: what
-- queue_check.lua does for each of them, of those who show neither place nor
-- token.  Who is in, or may enter at once, or has to wait for a draw, calls that
-- by itself.  Keys, further arguments and most of the answer are those of
-- queue_state_lib.lua.
--
-- max_queue, max_wait: as queue_check.lua has them
-- args: max_queue max_wait
-- each: user
--
-- joined: how many are new; stands: of each user the state (see
-- queue_state_lib.lua; 0: is to call by itself), position, score, and the time
-- of the clock then.
-- reply: joined stands

-- @include queue_state_lib.lua
-- @include queue_lib.lua
-- @include queue_refusal_lib.lua

local joined = 0
local stands = {}
local now = q.int(q.ms)

-- How a user stands, who joins if that is possible.
function q.join(user)
  if call('ZSCORE', k.active, user) then
    return NOT_IN, 0, 0
  end

  local score = call('ZSCORE', k.queue, user)
  if score then
    call('ZADD', k.seen, now, user)
    call('ZREM', k.leaving, user)
    return WAITING, call('ZRANK', k.queue, user) + 1, score + 0
  end

  if q.sold_out() then
    return SOLD_OUT, 0, 0
  end
  if q.size == 0 and not q.restoring() and not q.settling() or q.undrawn() then
    return NOT_IN, 0, 0
  end

  local refused = refusal(q.size, q.size + 1, q.rate)
  if refused then
    return refused, 0, 0
  end

  q.live()
  if joined == 0 then
    q.try()
    q.note_busy()
  end
  joined = joined + 1
  score = 2 * q.tick() + 1
  call('ZADD', k.seen, now, user)
  call('ZREM', k.leaving, user)
  q.add_waiting(user, score)
  if q.size == 1 then
    q.touch(k.queue, k.seen, k.epoch, k.state)
  end
  return WAITING, q.size, score
end


q.hear_host()
q.touch_all()

for i = #ARG, #ARGV - 1, #EACH do
  local state, position, score = q.join(ARG.user[i])
  stands[#stands + 1] = state
  stands[#stands + 1] = position
  stands[#stands + 1] = score
  stands[#stands + 1] = q.stored
end

local answer = q.reply(NOT_IN)
answer[REPLY.joined] = joined
answer[REPLY.stands] = stands
return answer
