// How long one provider may take, and how many steps with it may wait.

import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { createProviderClient } from "./provider-client.ts";
import { ProviderError } from "./provider-faults.ts";
import { readProvider } from "./provider-state.ts";

const providerNamed = (name: string) =>
  readProvider({
    decode: () => ({
      metadata: { name, uid: `uid-of-${name}` },
      spec: {
        issuer: { url: `https://${name}.test` },
        clientId: "client",
        claimMappings: { username: { claim: "name" } },
      },
    }),
  } as never);

const CHECKS = { state: "s", nonce: "n", verifier: "v".repeat(43) };

function clientOf(answers: (url: string) => Promise<Response>) {
  const time = manualTime();
  const client = createProviderClient({
    fetchFrom: () => answers,
    issuerKeys: { find: async () => ({ keys: [], fetchedAt: undefined, fault: undefined }) },
    secretAt: () => undefined,
    assertions: { assertionFor: () => Promise.reject(new Error("unused")) },
    clock: time.clock,
    scheduler: time.scheduler,
  });
  return { time, client };
}
const documentOf = (url: string): Response => {
  const issuer = new URL(url).origin;
  const body = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
};

it("a provider that does not answer is left after the deadline of the whole step", async () => {
  const { time, client } = clientOf(async (url) =>
    url.endsWith("/token") ? await new Promise<Response>(() => {}) : documentOf(url),
  );
  const provider = providerNamed("drips");
  const refreshed = client.refresh(provider, "token", "sub").catch((error: unknown) => error);
  const taken = client
    .takeCode(provider, new URL("https://p.test/?code=c&state=s"), CHECKS)
    .catch((error: unknown) => error);
  time.advance(20_000);
  for (const error of [await refreshed, await taken]) {
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ message: "it did not answer within 20 seconds" });
  }
});

it("a provider that does not answer keeps 50 steps, and none of others", async () => {
  const { time, client } = clientOf(async (url) =>
    url.startsWith("https://slow") ? await new Promise<Response>(() => {}) : documentOf(url),
  );
  const [slow, good] = [providerNamed("slow"), providerNamed("good")];
  const start = (provider: typeof slow) => client.authorizationUrl(provider, "https://p.test/callback", CHECKS);
  const waiting = Array.from({ length: 50 }, () => start(slow).catch((error: unknown) => error));
  await expect(start(slow)).rejects.toThrow("50 requests to it are in progress");
  expect(await start(good)).toContain("https://good.test/authorize");
  time.advance(20_000);
  expect(await Promise.all(waiting)).toHaveLength(50);
});
