// People sign in while the clock of the server is not that of the identity provider, a certified one.

import { readFile } from "node:fs/promises";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFakeTime, type FakeTime, whyNoFakeTime } from "../crash/testing/fake-time.ts";
import { expectSuccess, KEYS, MANAGEMENT } from "../crash/testing/keys.ts";
import { type ServerProcess, startServerProcess } from "../crash/testing/server-process.ts";
import { newPerson, signInAtProvider, startBrowser } from "./testing/browser.ts";
import { type ServedProvider, serveProvider } from "./testing/identity-provider.ts";
import { temporaryDirectory } from "./testing/postern-process.ts";

const missing = whyNoFakeTime();
const PERSON = "jane";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let time: FakeTime;
let server: ServerProcess;
let idp: ServedProvider;
let browser: Browser;

beforeAll(async () => {
  if (missing !== undefined) return;
  directory = await temporaryDirectory();
  const { path } = directory;
  time = await createFakeTime(path);
  await time.set(-86_400);
  const certificate = createTestCertificate("yesterday", time.env);
  await time.set(0);
  const flags = ["--proxy-allowed-addresses", "127.0.0.1/32"];
  server = await startServerProcess(path, flags, { env: time.env });
  idp = await serveProvider({ url: server.url, ca: await readFile(server.caFile) }, "idp", certificate);
  idp.people.set(PERSON, { preferred_username: PERSON });
  browser = await startBrowser();
  const issuer = { url: idp.url, certificateAuthority: idp.certificateAuthorityPem };
  const create = (collection: string, body: object) =>
    expectSuccess(server.client.send(collection, { key: server.adminKey ?? "", body }));
  await create("/api/v1/namespaces/p-default/secrets", {
    metadata: { name: "idp" },
    stringData: { clientSecret: idp.clientSecret },
  });
  await create(`${MANAGEMENT}/identityproviders`, {
    metadata: { name: "idp" },
    spec: {
      issuer,
      clientId: idp.clientId,
      clientSecretRef: { secretNamespace: "p-default", secretName: "idp" },
      claimMappings: { username: { claim: "preferred_username" } },
      createUsers: true,
    },
  });
});
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  await idp?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

/** Text that the person reads at the end, in a new browser. */
async function signIn(): Promise<string> {
  const person = await newPerson(browser);
  const page = await person.newPage();
  await page.goto(`${server.url}/login?return=/profile/access-keys`);
  await page.click("text=Sign in with idp");
  await signInAtProvider(page, PERSON);
  await page.waitForURL((url) => url.href.startsWith(server.url));
  await page.waitForSelector("main:has-text('signed in'), main:has-text('clock')");
  const text = (await page.textContent("main")) ?? "";
  await person.close();
  return text;
}
const sessions = async (): Promise<number> => {
  const { body } = await expectSuccess(server.client.send(KEYS, { key: server.adminKey ?? "" }));
  return body.items.filter((item: any) => item.spec.user === PERSON && item.spec.type === "Login").length;
};

// ID tokens of this provider are valid for 600 seconds: a server ahead of it takes them for as long.
test.skipIf(missing !== undefined).each([20, 60, -20])(
  "a server that is %i seconds ahead lets people in",
  async (ahead) => {
    const before = await sessions();
    await time.set(ahead);
    expect(await signIn()).toContain(`You are signed in as ${PERSON}`);
    expect(await sessions()).toBe(before + 1);
  },
);

test.skipIf(missing !== undefined).each([-60, -600, 660])(
  "a server that is %i seconds ahead reports that the clocks differ, and refuses the sign-in",
  async (ahead) => {
    await time.set(0);
    const before = await sessions();
    await time.set(ahead);
    expect(await signIn()).toContain("The clocks of the identity provider and of this server differ too much.");
    await time.set(0);
    expect(await sessions()).toBe(before);
  },
);
