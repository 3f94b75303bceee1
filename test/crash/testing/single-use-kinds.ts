// All that is good once, or a number of times: how it is made, and how a client uses it on one of two servers.

import { createHash, generateKeyPairSync, randomBytes, randomUUID, sign } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { githubClaims } from "@postern/platform/features/trust/testing/ci-claims";
import type { ServedIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { calculateJwkThumbprint } from "jose";
import { JWT } from "../../attacks/testing/exchanging.ts";
import { type Browse, csrfIn, OWN, type PageAnswer, SESSION } from "../../attacks/testing/signing-in.ts";
import type { Answer, HttpRequest } from "../../e2e/testing/http-client.ts";

const API = "/apis/management.postern/v1";
const KEYS = `${API}/ownedaccesskeys`;
const PROJECTS = `${API}/projects`;
const CLI = "postern-cli";
/** Of the provider. */
export const CLIENT = "client-of-ours";
const REDIRECT = "http://127.0.0.1:4567/callback";
const LOGOUT = "http://schemas.openid.net/event/backchannel-logout";

/** Two servers, each over as many connections as there are requests. Rejects where no answer comes. */
export type Asked = {
  readonly urls: readonly [string, string];
  readonly send: (server: number, path: string, options?: HttpRequest) => Promise<Answer>;
  readonly browse: (server: number, ...request: Parameters<Browse>) => Promise<PageAnswer>;
  readonly adminKey: string;
  /** With the role scim. */
  readonly directoryKey: string;
  readonly issuer: ServedIssuer;
  /** Claims of the ID token for a code. */
  readonly claimsOf: Map<string, object>;
};

export type SingleUse = {
  /** How often it is good: on both servers together, or on each. */
  readonly uses: number;
  readonly isForEach?: boolean;
  /** Whether this request was a use; undefined where the server does not know. */
  readonly use: (server: number) => Promise<boolean | undefined>;
  /** Each use makes an access key of one of these users: also where its answer was lost, there are no more of them. */
  readonly users?: readonly string[];
};

export type SingleUseKind = {
  readonly what: string;
  /** `name` is new in each call. */
  readonly make: (asked: Asked, name: string) => Promise<SingleUse>;
};

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const formOf = (fields: Readonly<Record<string, string>>): HttpRequest => ({
  headers: FORM,
  body: new URLSearchParams(fields).toString(),
});

/** By its status: 429 and 5xx say nothing about the use. */
function isUse(
  { status, text }: { readonly status: number; readonly text: string },
  good: number,
): boolean | undefined {
  if (status === good) return true;
  if (status === 429 || status >= 500) return undefined;
  if (status >= 400) return false;
  throw new Error(`${status} ${text}`);
}

async function created({ send, adminKey }: Asked, path: string, body: object): Promise<any> {
  const answer = await send(0, path, { key: adminKey, body });
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

const keyOf = async (asked: Asked, name: string, spec: object): Promise<string> =>
  (await created(asked, KEYS, { metadata: { name }, spec: { user: "admin", ...spec } })).spec.key;

/** From the choice of a provider on: what the provider sends the browser back with. */
async function away({ browse, issuer, claimsOf }: Asked, chosen: PageAnswer, name: string) {
  const left = await browse(0, "/login/start?provider=good", chosen.cookies);
  const { searchParams } = new URL(left.location);
  const nonce = searchParams.get("nonce") ?? "";
  const back = (): string => {
    const code = randomBytes(8).toString("hex");
    claimsOf.set(code, { sub: name, name_here: name, aud: CLIENT, nonce, sid: name });
    const query = { code, state: searchParams.get("state") ?? "", iss: issuer.url };
    return `/login/callback/good?${new URLSearchParams(query)}`;
  };
  return { back, cookies: left.cookies };
}

/** A browser that has signed in, and is asked whether a command line may act for its user. */
async function asked(at: Asked, chosen: PageAnswer, name: string): Promise<{ page: PageAnswer; csrf: string }> {
  const { back, cookies } = await away(at, chosen, name);
  const returned = await at.browse(1, back(), cookies);
  const page = await at.browse(0, "/login/confirm", returned.cookies);
  if (csrfIn(page) === "") throw new Error(`${page.status} ${page.text}`);
  return { page, csrf: csrfIn(page) };
}

const allow = (at: Asked, server: number, { page, csrf }: { page: PageAnswer; csrf: string }): Promise<PageAnswer> =>
  at.browse(server, "/login/confirm", page.cookies, { csrf, decision: "allow" }, OWN);

function commandLine() {
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    ...{ response_type: "code", client_id: CLI, redirect_uri: REDIRECT, state: "s" },
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  return { path: `/oauth/authorize?${query}`, verifier };
}

/** Few are given out in a minute, also where an earlier one was lost with a thread. */
async function device(at: Asked): Promise<{ readonly device_code: string; readonly user_code: string }> {
  for (;;) {
    const { status, headers, text, body } = await at.send(0, "/oauth/device_authorization", formOf({ client_id: CLI }));
    if (status === 200) return body;
    if (status !== 429) throw new Error(`${status} ${text}`);
    await pause(Number(headers["retry-after"]) * 1_000);
  }
}
const approving = async (at: Asked, user_code: string, name: string) =>
  asked(at, await at.browse(0, "/device", new Map(), { user_code }, OWN), name);
const isDone = ({ text }: PageAnswer): boolean => text.includes("You are signed in on the command line");

export const SINGLE_USE_KINDS: readonly SingleUseKind[] = [
  {
    what: "access key with maxUses",
    async make(at, name) {
      const key = await keyOf(at, name, { maxUses: 3 });
      const body = { apiVersion: "management.postern/v1", kind: "Self" };
      return { uses: 3, use: async (server) => isUse(await at.send(server, `${API}/selves`, { key, body }), 201) };
    },
  },
  {
    what: "wrapped value",
    async make(at, name) {
      const { status } = await created(at, `${KEYS}?wrap=5m`, { metadata: { name }, spec: { user: "admin" } });
      const { value } = status.wrapped;
      return { uses: 1, use: async (server) => isUse(await at.send(server, "/unwrap", { body: { value } }), 200) };
    },
  },
  {
    what: "value of a new access key",
    async make(at, name) {
      const key = randomBytes(24).toString("base64url");
      const use = async (server: number) => {
        const body = { metadata: { name: `${name}-${randomUUID()}` }, spec: { user: "admin", key } };
        return isUse(await at.send(server, "/apis/storage.postern/v1/accesskeys", { key: at.adminKey, body }), 201);
      };
      return { uses: 1, use };
    },
  },
  {
    what: "token of a rule that takes each once",
    async make({ send, issuer }, name) {
      const subject_token = await issuer.sign(githubClaims({ jti: name }));
      const form = {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        ...{ subject_token_type: JWT, subject_token, rule: "once" },
      };
      return { uses: 1, use: async (server) => isUse(await send(server, "/oauth/token", formOf(form)), 200) };
    },
  },
  {
    what: "join value of a cluster",
    async make(at, name) {
      await created(at, `${API}/clusters`, { metadata: { name }, spec: { networkPeer: true } });
      const { status } = await created(at, `${API}/clusters/${name}/join`, { kind: "ClusterJoin" });
      const value = status.url.slice(status.url.lastIndexOf("/") + 1);
      const body = { value, clusterUid: randomUUID() };
      return { uses: 1, use: async (server) => isUse(await at.send(server, "/join", { body }), 201) };
    },
  },
  {
    what: "name of a user of a directory",
    async make(at, name) {
      const user = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName: name, active: true };
      const body = JSON.stringify(user);
      const options = { key: at.directoryKey, body, headers: { "content-type": "application/scim+json" } };
      return { uses: 1, use: async (server) => isUse(await at.send(server, "/scim/v2/Users", options), 201) };
    },
  },
  {
    what: "return from a provider",
    async make(at, name) {
      const { back, cookies } = await away(at, await at.browse(0, "/login"), name);
      const use = async (server: number) => {
        const answer = await at.browse(server, back(), cookies);
        return answer.cookies.has(SESSION) ? true : isUse(answer, 200);
      };
      return { uses: 1, use, users: [name] };
    },
  },
  {
    what: "confirmation of a browser",
    async make(at, name) {
      const browser = await asked(at, await at.browse(0, commandLine().path), name);
      const use = async (server: number) => {
        const answer = await allow(at, server, browser);
        return answer.location.includes("code=") ? true : isUse(answer, 200);
      };
      return { uses: 1, use };
    },
  },
  {
    what: "code of a command line",
    async make(at, name) {
      const { path, verifier } = commandLine();
      const agreed = await allow(at, 1, await asked(at, await at.browse(0, path), name));
      const code = new URL(agreed.location).searchParams.get("code") ?? "";
      const form = { grant_type: "authorization_code", client_id: CLI, redirect_uri: REDIRECT, code };
      const options = formOf({ ...form, code_verifier: verifier });
      const use = async (server: number) => isUse(await at.send(server, "/oauth/token", options), 200);
      return { uses: 1, use, users: [name] };
    },
  },
  {
    what: "code that a device shows, allowed by two users",
    async make(at, name) {
      const { user_code } = await device(at);
      const browsers = [await approving(at, user_code, name), await approving(at, user_code, `${name}-other`)];
      let count = 0;
      const use = async (server: number) => {
        const browser = browsers[count++ % browsers.length];
        const answer = await allow(at, server, browser ?? { page: await at.browse(server, "/login"), csrf: "" });
        return isDone(answer) ? true : isUse(answer, 200);
      };
      return { uses: 1, use };
    },
  },
  {
    what: "code of a device",
    async make(at, name) {
      const { user_code, device_code } = await device(at);
      if (!isDone(await allow(at, 1, await approving(at, user_code, name)))) throw new Error("not allowed");
      const options = formOf({
        grant_type: "urn:ietf:params:oauth:grant-type:device_code",
        ...{ client_id: CLI, device_code },
      });
      const use = async (server: number) => isUse(await at.send(server, "/oauth/token", options), 200);
      return { uses: 1, use, users: [name] };
    },
  },
  {
    what: "logout token of a provider",
    async make({ send, issuer }, name) {
      const claims = { sub: name, aud: CLIENT, jti: name, events: { [LOGOUT]: {} } };
      const options = formOf({ logout_token: await issuer.sign(claims) });
      const use = async (server: number) => isUse(await send(server, "/oauth/backchannel-logout/good", options), 200);
      return { uses: 1, use };
    },
  },
  {
    what: "DPoP proof",
    async make(at, name) {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const jwk = publicKey.export({ format: "jwk" });
      const key = await keyOf(at, name, { confirmation: { jwkThumbprint: await calculateJwkThumbprint(jwk as any) } });
      const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
      const ath = createHash("sha256").update(key).digest("base64url");
      // Each server knows the other one by the names that both certificates have.
      const proofWith = (more: object): string => {
        const claims = {
          jti: randomUUID(),
          htm: "GET",
          htu: at.urls[0] + PROJECTS,
          iat: Math.floor(Date.now() / 1000),
        };
        const text = `${encode({ typ: "dpop+jwt", alg: "ES256", jwk })}.${encode({ ...claims, ath, ...more })}`;
        const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
        return `${text}.${signature.toString("base64url")}`;
      };
      const show = (server: number, dpop: string): Promise<Answer> =>
        at.send(server, PROJECTS, { headers: { authorization: `DPoP ${key}`, dpop } });
      const nonce = (await show(0, proofWith({}))).headers["dpop-nonce"];
      const proof = proofWith({ nonce });
      return { uses: 1, isForEach: true, use: async (server) => isUse(await show(server, proof), 200) };
    },
  },
];
