-- The load generator's script:
--
--     wrk -s requests.lua URL -- FILE SKIP EVENT [PACE]
--
-- The first line of FILE is a request with "%s" in it, "\r\n" written as "|"
-- and EVENT for the event's id; each line that follows has the values, with
-- tabs between them, of a request of its own.  All are made before the clock
-- runs.  SKIP requests are left out: a run goes on where another one stopped.
-- PACE is how many are sent a second, by all connections together: each one takes
-- the next time at which one is due.

local ffi = require "ffi"

ffi.cdef [[
struct timespec { long sec; long nsec; };
int clock_gettime(int clock, struct timespec *time);
]]

local requests, at = {}, 0
local time = ffi.new("struct timespec")

local function now()
   ffi.C.clock_gettime(1, time)   -- CLOCK_MONOTONIC
   return tonumber(time.sec) * 1000 + tonumber(time.nsec) / 1e6
end

function init(args)
   local file = assert(io.open(args[1]))
   local template = file:read("*l"):gsub("|", "\r\n")
                                   :gsub("EVENT", args[3] or "")

   for line in file:lines() do
      local values = {}
      for value in line:gmatch("[^\t]+") do
         values[#values + 1] = value
      end
      requests[#requests + 1] = template:format(unpack(values))
   end

   at = tonumber(args[2]) % #requests

   local pace = tonumber(args[4] or 0)
   if pace > 0 then
      local due

      function delay()
         local ms = now()
         due = (due or ms) + 1000 / pace
         return math.max(0, math.floor(due - ms + 0.5))
      end
   end
end

function request()
   at = at + 1
   local request = requests[at]
   if not request then
      at = 1
      request = requests[1]
   end
   return request
end

function done(summary, latency)
   local e = summary.errors
   print(("\nresult requests=%d us=%d failed=%d status=%d p50=%d p95=%d p99=%d")
         :format(summary.requests, summary.duration,
                 e.connect + e.read + e.write + e.timeout, e.status,
                 latency:percentile(50), latency:percentile(95),
                 latency:percentile(99)))
end
