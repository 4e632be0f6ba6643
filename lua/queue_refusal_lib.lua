-- Whether a line takes no more, by ARG.max_queue and ARG.max_wait.

-- What refuses a user who would wait at that position, of so many; nil:
-- nothing.  The wait is what hosts tell, as ngx_adm_queue_estimate() has it.
local function refusal(size, position, rate)
  local most, longest = ARG.max_queue + 0, ARG.max_wait + 0
  if most >= 0 and size >= most then
    return 6   -- QUEUE_FULL
  end
  if longest == 0 then
    return nil
  end
  local wait = rate > 0 and math.ceil(position * 1000 / rate)
               or math.max(math.floor(position / 50), 5)
  return wait * 1000 > longest and 7 or nil   -- WAIT_TOO_LONG
end
