// Documents of an issuer that do not arrive in time are refused with that as the reason, wherever they stop.

import type { ServerResponse } from "node:http";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { expect, it } from "vitest";
import { createAddressRules } from "../upstream/address-rules.ts";
import { createFetchKeySet, ISSUER_LIMITS } from "./fetch-key-set.ts";
import { serveIssuer } from "./testing/serve-issuer.ts";

/** Ends the time for the response that is being waited for. */
let expire: () => void = () => undefined;
const scheduler: Scheduler = {
  schedule(delayMs, task) {
    if (delayMs === ISSUER_LIMITS.responseTimeoutMs) expire = task;
    return systemRuntime.scheduler.schedule(delayMs, task);
  },
};
const addresses = createAddressRules();
const fetchKeySet = createFetchKeySet({ scheduler, addresses, tenantAddresses: addresses, userAgent: "test" });

const dripping = (response: ServerResponse): void => {
  response.writeHead(200);
  const timer = setInterval(() => void (response.destroyed ? clearInterval(timer) : response.write(" ")), 20);
};
const silent = (response: ServerResponse): void => response.flushHeaders();

it.each<[what: string, document: string, answer: (response: ServerResponse) => void]>([
  ["drips", "discovery document", dripping],
  ["drips", "key set", dripping],
  ["ends behind its head", "discovery document", silent],
  ["ends behind its head", "key set", silent],
  ["never begins", "discovery document", () => undefined],
])("a response that %s: its %s", async (_, document, answer) => {
  await using issuer = await serveIssuer();
  issuer.intercept = (request, response) => {
    const isKeys = request.url?.includes("/keys") === true;
    if (isKeys !== (document === "key set")) {
      response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }));
    } else {
      answer(response);
      // Soon, when its first bytes have come.
      setTimeout(() => expire(), 50);
    }
  };
  const { certificateAuthorityPem, url } = issuer;
  const source = { issuer: url, certificateAuthorityPem, isTenants: false } as Parameters<typeof fetchKeySet>[0];
  await expect(fetchKeySet(source, new AbortController().signal)).rejects.toThrow(
    `its ${document} did not arrive within 10 seconds`,
  );
});
