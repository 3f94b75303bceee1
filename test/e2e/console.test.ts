// The console in a real browser: sign-in, the session, and what each view is there for.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedConsole, serveConsole, signInAs } from "./testing/console.ts";

let served: ServedConsole;
let admin: string;
beforeAll(async () => {
  served = await serveConsole();
  admin = served.platform.adminKey;
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jane" }, spec: { displayName: "Jane" } });
  await platform.create("ownedaccesskeys", {
    metadata: { name: "ci" },
    spec: { displayName: "CI of the shop", ttl: 30 * 86_400, scope: { projects: [{ project: "default" }] } },
  });
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  // Policy violations and errors of all tests before.
  expect(served?.faults).toEqual([]);
});

test("somebody signs in with a key, sees their keys, and signs out", async () => {
  const page = await served.open("/keys");
  await page.getByLabel("Access key", { exact: true }).fill("not a key");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("The server does not accept this access key.").waitFor();
  await signInAs(page, admin);
  // The view that was asked for.
  await page.getByRole("link", { name: "CI of the shop" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/keys");
  // Nothing of the key stays where a script reads.
  const kept = await page.evaluate(
    "JSON.stringify([localStorage, sessionStorage, document.cookie, document.body.innerHTML])",
  );
  expect(kept).not.toContain(admin);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
});

test("a session that is revoked elsewhere ends here, without anything done in the page", async () => {
  const page = await served.openAs(admin, "/");
  const name = await page.evaluate(
    "fetch('/login/session').then((answer) => answer.json()).then((body) => body.keyName)",
  );
  await served.platform.send({ method: "DELETE", path: `ownedaccesskeys/${name}` });
  await page.getByText("Your session has ended.").waitFor();
});
