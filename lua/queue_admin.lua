-- @include queue_lib.lua
--
-- An operator looks, clears, or sets the threshold.

local what, value = ARGV[17], num(18)

hear_host()

if what == 'clear' then
  live()
  -- the old line is kept for a day, not as a line, but so that nobody comes
  -- with a position that was another's
  if call('EXISTS', QUEUE) == 1 then
    call('RENAME', QUEUE, CLEARED)
    call('EXPIRE', CLEARED, 86400)
  end
  call('UNLINK', ACTIVE, SEEN, ACTIVE_SEEN, ADMITTED, LEAVING)
  clear = tick()
  floor_until = 0
  call('HSET', STATE, 'clear', int(clear), 'floor_until', '0')
  touch(STATE)

elseif what == 'set' then
  call('SET', THRESHOLD, int(value))
  api_threshold = value

elseif what == 'unset' then
  call('DEL', THRESHOLD)
  api_threshold = -1
end

return reply(NOT_IN)
