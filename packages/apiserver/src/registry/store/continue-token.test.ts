import { expect, it } from "vitest";
import { createContinueTokens } from "./continue-token.ts";

it("gives kept tokens for the revision that is asked for only", () => {
  const tokens = createContinueTokens(Buffer.from("key"));
  const positions = Array.from({ length: 1_500 }, (_, number) => ({ revision: 1, startAfter: `key-${number}` }));
  const asked = [...positions, ...positions.map((position) => ({ ...position, revision: 2 })), ...positions];
  const given = asked.map((position) => tokens.encode(position));
  expect(given.map((token) => tokens.decode(token))).toEqual(asked);
  // A server with another key refuses them.
  expect(() => createContinueTokens(Buffer.from("other")).decode(given[0] ?? "")).toThrow("signature does not match");
});
