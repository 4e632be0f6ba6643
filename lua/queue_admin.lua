-- An operator looks, clears, sets the threshold, or the seats.  Keys, further
-- arguments and the answer are those of queue_state_lib.lua.
--
-- what: look, clear, set (the threshold, to value), unset, slots (the seats, to
-- value, of which so many are sold at least; -1: as many as are known to be),
-- unslots
-- args: what value given

-- @include queue_state_lib.lua
-- @include queue_lib.lua

local what, value = ARG.what, ARG.value + 0

q.hear_host()

if what == 'clear' then
  q.live()
  q.try()
  call('UNLINK', k.leaving)
  -- the old line is kept for a day; not as a line, but so that nobody comes
  -- with a position that was another user's
  if call('EXISTS', k.queue) == 1 then
    if call('EXISTS', k.cleared) == 1 then
      call('ZUNIONSTORE', k.cleared, 2, k.cleared, k.queue, 'AGGREGATE', 'MIN')
      call('UNLINK', k.queue)
    else
      call('RENAME', k.queue, k.cleared)
    end
    call('EXPIRE', k.cleared, 86400)
  end
  if q.seats() >= 0 and call('EXISTS', k.admitted) == 1 then
    call('ZUNIONSTORE', k.ended, 2, k.ended, k.admitted, 'AGGREGATE', 'MAX')
    q.touch(k.ended)
  end
  q.size, q.active = 0, 0
  call('UNLINK', k.active, k.seen, k.active_seen, k.admitted)
  q.clear = q.tick()
  q.floor_until = 0
  call('HSET', k.state, 'clear', q.int(q.clear), 'floor_until', '0')
  q.touch(k.state)

elseif what == 'set' then
  call('SET', k.threshold, q.int(value))
  q.api_threshold = value

elseif what == 'unset' then
  call('DEL', k.threshold)
  q.api_threshold = -1

elseif what == 'slots' then
  call('HDEL', k.state, '')
  -- so that a loss of the data can be seen
  q.live()
  q.set_slots(value)
  if ARG.given + 0 > q.sold or not q.known then
    q.set_sold(math.max(q.sold, ARG.given + 0))
  end
  q.find_sold()

elseif what == 'unslots' then
  q.api_slots = -1
  if q.known then
    q.keep_sold()
  end
  call('DEL', k.slots)
end

return q.reply(NOT_IN)
