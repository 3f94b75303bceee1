// The exchange beside other work: rules that a tenant stored are no reason for others to wait.

import { createRateLimiter } from "@postern/apiserver/limits/rate-limiter";
import { expect, it } from "vitest";
import { encode } from "../../foundation/issuers/testing/serve-issuer.ts";
import { createTokenExchange } from "./token-exchange.ts";
import { createTokenVerifier } from "./token-verifier.ts";
import type { TrustRuleState } from "./trust-rule-state.ts";

const ISSUER = "https://issuer.example";
const RULES = 50;

it("lets others have their turn between the rules that a token is held against", async () => {
  // Each look at the clock is a long time after the last one, as if every check were expensive.
  let elapsed = 0;
  const clock = { now: () => 1_000_000, elapsed: () => (elapsed += 100) };
  const rule = { source: { id: "a", issuer: ISSUER }, audiences: ["postern"], isOff: false, project: "web" };
  const verifier = createTokenVerifier({
    issuerKeys: { find: async () => ({ keys: [], fault: "none" }) } as any,
    directory: { user: () => undefined },
    writerError: () => undefined,
    clock,
  });
  const exchange = createTokenExchange({
    rules: { get: () => undefined, ofIssuer: () => Array(RULES).fill(rule) as TrustRuleState[] },
    verifier,
    take: async () => true,
    issue: () => Promise.reject(new Error("no rule takes the token")),
    clock,
    rateLimiter: (limit) => createRateLimiter(limit, clock),
  });
  const claims = { iss: ISSUER, sub: "a", aud: "postern", exp: 2_000 };
  const token = [{ alg: "RS256", kid: "a" }, claims, {}].map((part) => encode(JSON.stringify(part))).join(".");

  let turns = 0;
  let isDone = false;
  const others = (): void => {
    turns++;
    if (!isDone) setImmediate(others);
  };
  setImmediate(others);
  const refused = exchange({
    token,
    target: { kind: "project", project: "web" },
    address: "192.0.2.1",
    outside: undefined,
  });
  await expect(refused).rejects.toThrow(/keys|signature/i);
  isDone = true;
  // The first look begins a turn.
  expect(turns).toBeGreaterThanOrEqual(RULES - 1);
});
