-- Takes back what limit.lua charged to windows, since the request is refused
-- all the same: by a window on another node, or at a place that it was
-- redirected to.
--
-- KEYS: the windows.  ARGV, three for each: "l" or "c", the length of the
-- window in ms, and when it was charged, as limit.lua said.

local call = redis.call

for i, key in ipairs(KEYS) do
  local log, window = ARGV[3 * i - 2] == 'l', ARGV[3 * i - 1] + 0
  local at, failed = ARGV[3 * i], false

-- @include limit_lib.lua

  if failed then
    return failed
  end
end
