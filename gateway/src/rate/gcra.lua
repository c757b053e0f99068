-- One request against an account's rate: the same rule as `gateway/src/rate/gcra.rs`, decided and consumed in one step.
--
-- KEYS[1]  the account's state: the time at which its allowance is full again, in microseconds of Redis' clock
-- ARGV[1]  microseconds from one request to the next
-- ARGV[2]  microseconds that a whole allowance takes to fill
-- ARGV[3]  microseconds until the allowance is full again as the gateway remembers it: counts where Redis has no state,
--          so that one that was emptied gives no account a new allowance
-- Answer   { 1 if it passes, else 0; microseconds until the allowance is full again }
--
-- All numbers stay below 2^53, where Lua's are exact.
local interval, burst, remembered = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local state = redis.call('GET', KEYS[1])
local told = state and tonumber(state) - now or remembered
local ahead = math.min(math.max(told, 0), burst)
local passes = ahead + interval <= burst
if passes then
  ahead = ahead + interval
end
-- A request that is refused changes nothing, unless the state was none, or further ahead than it can be.
if passes or not state or told > burst then
  -- A minute longer than it means anything: the expiry only cleans up.
  local keep = math.ceil(ahead / 1000) + 60000
  redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', string.format('%.0f', keep))
end
return { passes and 1 or 0, ahead }
