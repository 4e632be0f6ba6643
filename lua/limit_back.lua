-- Takes back what limit.lua charged to windows, since the request is refused
-- all the same: by a window on another node, or at a place that it was
-- redirected to.
--
-- KEYS are the windows.  For each: "l" or "c", the length of the window in ms,
-- and when it was charged, us, as limit.lua said.  Nothing is answered.
-- each: algorithm window at

local call = redis.call

for i, key in ipairs(KEYS) do
  local a = #EACH * i - #EACH
  local log, window = ARG.algorithm[a] == 'l', ARG.window[a] + 0
  local at, failed = ARG.at[a], false

-- @include limit_lib.lua

  if failed then
    return failed
  end
end
