// Sign-in on two servers of one etcd: each step may be taken by the other one, a code opens on one of them, and a session ends on both.

import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type ServedIssuer, serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type PosternProcess, startPostern } from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { attackerOf } from "./testing/attacking.ts";
import { type Browse, browserOf, csrfIn, OWN, type PageAnswer, provideSignIn, SESSION } from "./testing/signing-in.ts";

const CLIENT = "client-of-ours";
const EVENT = "http://schemas.openid.net/event/backchannel-logout";

describe.skipIf(whyNoEtcd() !== undefined)("sign-ins on two servers", () => {
  let two: TwoOnEtcd<PosternProcess>;
  let issuer: ServedIssuer;
  let clients: readonly Awaited<ReturnType<typeof attackerOf>>[];
  let browsers: readonly Browse[];
  let nonce = "";
  let count = 0;

  beforeAll(async () => {
    issuer = await serveIssuer();
    two = await startTwoOnEtcd(startPostern, ["--proxy-allowed-addresses", "127.0.0.1/32"]);
    const { servers } = two;
    clients = await Promise.all(servers.map((server) => attackerOf(server)));
    browsers = await Promise.all(servers.map(async ({ url, caFile }) => browserOf(url, await readFile(caFile))));
    provideSignIn(issuer, () =>
      issuer.sign({ sub: `sub-${count}`, name_here: `person-${count}`, aud: CLIENT, nonce, sid: `sid-${count}` }),
    );
    await clients[0]?.must({
      path: "identityproviders",
      body: {
        metadata: { name: "good" },
        spec: {
          issuer: { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem },
          clientId: CLIENT,
          claimMappings: { username: { claim: "name_here" } },
          createUsers: true,
        },
      },
    });
    while ((await clients[1]?.send({ path: "identityproviders/good" }))?.status !== 200)
      await new Promise((resolve) => setImmediate(resolve));
  });
  beforeEach(() => {
    count++;
  });
  afterAll(async () => {
    await two?.[Symbol.asyncDispose]();
    await issuer?.[Symbol.asyncDispose]();
  });

  const at = <T>(list: readonly T[], which: number): T => {
    const found = list[which % 2];
    if (found === undefined) throw new Error("there are two servers");
    return found;
  };
  const browse = (which: number): Browse => at(browsers, which);
  const isGood = async (which: number, key: string): Promise<boolean> =>
    (await at(clients, which).send({ path: "selves", as: key, body: {} })).status === 201;

  /** From the choice of a provider on: away from one server, and back to the other. */
  async function through(chosen: PageAnswer, from: number): Promise<PageAnswer> {
    const left = await browse(from)("/login/start?provider=good", chosen.cookies);
    const { searchParams } = new URL(left.location);
    nonce = searchParams.get("nonce") ?? "";
    const query = { code: randomBytes(8).toString("hex"), state: searchParams.get("state") ?? "", iss: issuer.url };
    return await browse(from + 1)(`/login/callback/good?${new URLSearchParams(query)}`, left.cookies);
  }
  const sessionFrom = async (from: number): Promise<string> =>
    (await through(await browse(from)("/login"), from)).cookies.get(SESSION) ?? "";

  it.each([0, 1])("begin on server %d, and come back to the other", async (from) => {
    const key = await sessionFrom(from);
    expect([await isGood(0, key), await isGood(1, key)]).toEqual([true, true]);
    const cookies = new Map([[SESSION, key]]);
    for (const which of [0, 1]) expect((await browse(which)("/profile/access-keys", cookies)).status).toBe(200);
  });

  it("have one key of the client, whichever makes it", async () => {
    await clients[0]?.must({
      path: "identityproviders",
      body: {
        metadata: { name: "by-key" },
        spec: {
          issuer: { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem },
          clientId: CLIENT,
          clientAuthentication: "PrivateKeyJWT",
          claimMappings: { username: { claim: "name_here" } },
        },
      },
    });
    while ((await clients[1]?.send({ path: "identityproviders/by-key" }))?.status !== 200)
      await new Promise((resolve) => setImmediate(resolve));
    const path = "identityproviders/by-key/test";
    const tests = await Promise.all(clients.map((client) => client.must({ path, body: { spec: {} } })));
    expect(tests.map(({ status }) => status.accepted)).toEqual([true, true]);
    // A set is shown again for a second.
    const sets = async () =>
      await Promise.all([0, 1].map(async (which) => JSON.parse((await browse(which)("/oauth/client-keys")).text).keys));
    await expect.poll(async () => (await sets()).map((keys) => keys.length)).toEqual([1, 1]);
    const [one, other] = await sets();
    expect(one).toEqual(other);
  });

  it("agree to a device on one server, which asks the other", async () => {
    const begun = JSON.parse(
      (await browse(0)("/oauth/device_authorization", new Map(), { client_id: "postern-cli" })).text,
    );
    const poll = async (which: number) => {
      const grant = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", client_id: "postern-cli" };
      return await browse(which)("/oauth/token", new Map(), { ...grant, device_code: begun.device_code });
    };
    expect(JSON.parse((await poll(1)).text).error).toBe("authorization_pending");
    const chosen = await browse(1)("/device", new Map(), { user_code: begun.user_code }, OWN);
    const returned = await through(chosen, 1);
    const page = await browse(1)("/login/confirm", returned.cookies);
    expect(page.text).toContain(begun.user_code);
    const agreed = await browse(0)("/login/confirm", page.cookies, { csrf: csrfIn(page), decision: "allow" }, OWN);
    expect(agreed.text).toContain("You are signed in on the command line");
    // Both ask at the same moment: one of them has it.
    const answers = await Promise.all([poll(0), poll(1), poll(0), poll(1)]);
    const keys = answers.flatMap(({ status, text }) => (status === 200 ? [JSON.parse(text).access_token] : []));
    expect(keys.length).toBe(1);
    expect([await isGood(0, keys[0]), await isGood(1, keys[0])]).toEqual([true, true]);
  });

  it("redeem a code once between the servers", async () => {
    const verifier = randomBytes(32).toString("base64url");
    const redirect = "http://127.0.0.1:4567/callback";
    const asked = new URLSearchParams({
      ...{ response_type: "code", client_id: "postern-cli", redirect_uri: redirect, state: "s" },
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    });
    const returned = await through(await browse(0)(`/oauth/authorize?${asked}`), 0);
    const page = await browse(0)("/login/confirm", returned.cookies);
    const agreed = await browse(1)("/login/confirm", page.cookies, { csrf: csrfIn(page), decision: "allow" }, OWN);
    const code = new URL(agreed.location).searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", client_id: "postern-cli", redirect_uri: redirect, code };
    const answers = await Promise.all(
      [0, 1, 0, 1].map((which) => browse(which)("/oauth/token", new Map(), { ...form, code_verifier: verifier })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400]);
  });

  it.each([0, 1])("are signed out on both from the moment that server %d has answered the provider", async (which) => {
    const [first, other] = [await sessionFrom(0), await sessionFrom(1)];
    const claims = { sub: `sub-${count}`, aud: CLIENT, jti: randomBytes(8).toString("hex"), events: { [EVENT]: {} } };
    const token = await issuer.sign(claims);
    const logOut = (server: number) =>
      browse(server)("/oauth/backchannel-logout/good", new Map(), { logout_token: token });
    expect((await logOut(which)).status).toBe(200);
    const left = await Promise.all([0, 1].flatMap((server) => [isGood(server, first), isGood(server, other)]));
    expect(left).toEqual([false, false, false, false]);
    // The token is taken, on whichever of them it is shown again.
    expect((await logOut(which + 1)).status).toBe(400);
  });
});
