// Every way to take away what a credential opens: how to make a credential that opens something, what to ask with it, and what ends it.

import { Agent, request } from "node:https";
import {
  type IssuerSigningKey,
  newSigningKey,
  signClaims,
} from "@postern/platform/foundation/issuers/testing/serve-issuer";
import type { ApiAnswer, ApiClient, ApiRequest } from "./api-client.ts";
import { expectSuccess, KEYS, MANAGEMENT, statusFor } from "./keys.ts";

const USERS = `${MANAGEMENT}/users`;
const TEAMS = `${MANAGEMENT}/teams`;
const PROJECTS = `${MANAGEMENT}/projects`;
const DEMO = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances/demo`;
const RBAC = "/kubernetes/management/apis/rbac.authorization.k8s.io/v1";
const INSIDE = "/kubernetes/project/default/virtualcluster/demo";
const INSIDE_RBAC = `${INSIDE}/apis/rbac.authorization.k8s.io/v1`;
const INSIDE_CORE = `${INSIDE}/api/v1/namespaces/default`;
const MERGE = "application/merge-patch+json";
/** Takes a permission that no user has without a role. */
const SOMETHING = `${USERS}/admin`;

/** Sends as the administrator. */
export type Administrator = {
  readonly client: ApiClient;
  readonly key: string;
};

/** A server that is asked with the credential. */
export type AskedServer = { readonly client: ApiClient; readonly url: string; readonly ca: string };

export type Victim = {
  readonly name: string;
  /** The status of an answer; undefined where there is none. Success is what must not be any more. */
  readonly ask: (server: AskedServer, timeoutMs?: number) => Promise<number | undefined>;
  readonly end: (admin: Administrator) => Promise<unknown>;
  /** Closes the connections that are its own. */
  readonly close?: () => void;
};

export type RevocationKind = {
  readonly what: string;
  readonly make: (admin: Administrator, name: string) => Promise<Victim>;
  /** One request that ends many. Absent: each by its own. */
  readonly endAll?: (admin: Administrator, victims: readonly Victim[]) => Promise<unknown>;
};

const send = ({ client, key }: Administrator, path: string, options: ApiRequest): Promise<ApiAnswer> =>
  expectSuccess(client.send(path, { key, ...options }));
/** Another try may find what the first has made, before its answer was lost. */
async function create(admin: Administrator, path: string, name: string, rest: object): Promise<any> {
  const { client, key } = admin;
  const made = await client.send(path, { key, body: { metadata: { name }, ...rest } });
  if (made.status === 409) return (await send(admin, `${path}/${name}`, {})).body;
  return (await expectSuccess(Promise.resolve(made))).body;
}
const patch = (admin: Administrator, path: string, body: object): Promise<ApiAnswer> =>
  send(admin, path, { method: "PATCH", contentType: MERGE, body });
/** Also where the first try has done it, and its answer was lost. */
async function remove({ client, key }: Administrator, path: string): Promise<void> {
  const { status, body } = await client.send(path, { key, method: "DELETE" });
  if (status >= 300 && status !== 404) throw new Error(`${status} ${JSON.stringify(body)}`);
}

const byKey =
  (key: string): Victim["ask"] =>
  ({ client }, timeoutMs) =>
    // The server may be unreachable.
    statusFor(client, key, timeoutMs).catch(() => undefined);
/** A GET of that path. */
const byPath =
  (key: string, path: string, headers: ApiRequest["headers"] = {}): Victim["ask"] =>
  ({ client }, timeoutMs) =>
    client.send(path, { key, headers, ...(timeoutMs === undefined ? {} : { timeoutMs }) }).then(
      ({ status }) => status,
      () => undefined,
    );

/** The value is shown once: if the first answer was lost, the value is unknown, and another key is made in its place. */
async function newKey(admin: Administrator, name: string, spec: object): Promise<string> {
  const made = await create(admin, KEYS, name, { spec: { type: "User", ...spec } });
  if (made.spec.key !== undefined) return made.spec.key;
  await remove(admin, `${KEYS}/${name}`);
  return await newKey(admin, name, spec);
}
async function newUser(admin: Administrator, name: string, spec: object = {}): Promise<string> {
  await create(admin, USERS, name, { spec });
  return await newKey(admin, name, { user: name });
}
const role = (name: string) => ({
  roleRef: { kind: "ClusterRole", apiGroup: "rbac.authorization.k8s.io", name },
});
const subject = (kind: "User" | "Group", name: string) => ({
  subjects: [{ kind, apiGroup: "rbac.authorization.k8s.io", name }],
});
const READS_USERS = { rules: [{ verbs: ["get"], apiGroups: ["management.postern"], resources: ["users"] }] };

const keyKind = (
  what: string,
  end: (admin: Administrator, name: string, key: string) => Promise<unknown>,
): RevocationKind => ({
  what,
  async make(admin, name) {
    const key = await newKey(admin, name, { user: "admin" });
    return { name, ask: byKey(key), end: (by) => end(by, name, key) };
  },
});
/** A key of the administrator's that may read, and stays good when it may not any more. */
const narrowedKind = (what: string, spec: object): RevocationKind => ({
  what,
  async make(admin, name) {
    const key = await newKey(admin, name, { user: "admin" });
    return { name, ask: byPath(key, SOMETHING), end: (by) => patch(by, `${KEYS}/${name}`, { spec }) };
  },
});
const userKind = (what: string, end: (admin: Administrator, name: string) => Promise<unknown>): RevocationKind => ({
  what,
  async make(admin, name) {
    const key = await newUser(admin, name);
    return { name, ask: byKey(key), end: (by) => end(by, name) };
  },
});
/** A user who may read because of a role that is bound. */
const boundKind = (
  what: string,
  grant: (admin: Administrator, name: string) => Promise<unknown>,
  end: (admin: Administrator, name: string) => Promise<unknown>,
): RevocationKind => ({
  what,
  async make(admin, name) {
    const key = await newUser(admin, name);
    await create(admin, `${RBAC}/clusterroles`, name, READS_USERS);
    await grant(admin, name);
    return { name, ask: byPath(key, SOMETHING), end: (by) => end(by, name) };
  },
});
const bindUser = (admin: Administrator, name: string): Promise<unknown> =>
  create(admin, `${RBAC}/clusterrolebindings`, name, { ...role(name), ...subject("User", name) });
const bindGroup = (admin: Administrator, name: string, group: string): Promise<unknown> =>
  create(admin, `${RBAC}/clusterrolebindings`, name, { ...role(name), ...subject("Group", group) });

/** The token of a kubeconfig that was made with a narrowed key. */
const childKind = (
  what: string,
  end: (admin: Administrator, parent: string, key: string) => Promise<unknown>,
): RevocationKind => ({
  what,
  async make(admin, name) {
    const scope = { virtualClusters: [{ project: "default", virtualCluster: "demo" }] };
    const key = await newKey(admin, name, { user: "admin", ttl: 7_200, scope });
    const { body } = await send({ ...admin, key }, `${DEMO}/kubeconfig`, { body: { spec: {} } });
    const token = /token: (\S+)/.exec(body.status.kubeConfig)?.[1] ?? "";
    return { name, ask: byPath(token, `${INSIDE}/api/v1/namespaces/default`), end: (by) => end(by, name, key) };
  },
});

/** The certificate of a kubeconfig. Ended by the ledger's id of it, or together with the key that asked for it. */
const certificateKind = (
  what: string,
  end: (admin: Administrator, name: string) => Promise<unknown>,
): RevocationKind => ({
  what,
  async make(admin, name) {
    const key = await newKey(admin, name, { user: "admin" });
    const { body } = await send({ ...admin, key }, `${DEMO}/kubeconfig`, { body: { spec: { clientCert: true } } });
    const data = (member: string): string =>
      Buffer.from(new RegExp(`${member}: (\\S+)`).exec(body.status.kubeConfig)?.[1] ?? "", "base64").toString();
    const asked = byCertificate(data("client-certificate-data"), data("client-key-data"));
    return { name, ...asked, end: (by) => end(by, name) };
  },
});
function byCertificate(cert: string, key: string): Required<Pick<Victim, "ask" | "close">> {
  const agents = new Map<string, Agent>();
  const ask: Victim["ask"] = ({ url, ca }, timeoutMs = 60_000) =>
    new Promise((resolve) => {
      const agent = agents.get(url) ?? new Agent({ keepAlive: true, maxSockets: 1, ca, cert, key });
      agents.set(url, agent);
      const sent = request(`${url}${INSIDE}/api/v1/namespaces/default`, {
        agent,
        signal: AbortSignal.timeout(timeoutMs),
      });
      sent.on("error", () => resolve(undefined));
      sent.on("response", (response) => {
        response.resume().on("error", () => resolve(undefined));
        response.on("end", () => resolve(response.statusCode));
      });
      sent.end();
    });
  const close = (): void => {
    for (const agent of agents.values()) agent.destroy();
  };
  return { ask, close };
}

async function revokeCertificatesOf(admin: Administrator, name: string): Promise<void> {
  const path = `${KEYS}/${name}/credentials`;
  const { body } = await send(admin, path, {});
  const ids = body.status.credentials.filter(({ kind }: any) => kind === "Certificate").map(({ id }: any) => id);
  // None is left where the first try has done it.
  if (ids.length > 0) await send(admin, path, { body: { spec: { revoke: ids } } });
}

/** A ServiceAccount of an embedded cluster that may read there, with a token that was asked for. */
const insideKind = (what: string, end: (admin: Administrator, name: string) => Promise<unknown>): RevocationKind => ({
  what,
  async make(admin, name) {
    await create(admin, `${INSIDE_CORE}/serviceaccounts`, name, {});
    const rules = [{ verbs: ["get", "list"], apiGroups: [""], resources: ["configmaps"] }];
    await create(admin, `${INSIDE_RBAC}/namespaces/default/roles`, name, { rules });
    await create(admin, `${INSIDE_RBAC}/namespaces/default/rolebindings`, name, {
      roleRef: { kind: "Role", apiGroup: "rbac.authorization.k8s.io", name },
      subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    });
    const { body } = await send(admin, `${INSIDE_CORE}/serviceaccounts/${name}/token`, { body: { spec: {} } });
    return { name, ask: byPath(body.status.token, `${INSIDE_CORE}/configmaps`), end: (by) => end(by, name) };
  },
});
/** With the token of a Secret. */
const tokenSecretKind: RevocationKind = {
  what: "token Secret inside a cluster deleted",
  async make(admin, name) {
    await create(admin, `${INSIDE_CORE}/serviceaccounts`, name, {});
    const annotations = { "kubernetes.io/service-account.name": name };
    const path = `${INSIDE_CORE}/secrets`;
    const type = "kubernetes.io/service-account-token";
    await create(admin, path, name, { metadata: { name, annotations }, type });
    let token = "";
    while (token === "") token = (await send(admin, `${path}/${name}`, {})).body.data?.token ?? "";
    // It has no rights, and is let in.
    const ask = byPath(Buffer.from(token, "base64").toString(), `${INSIDE}/version`);
    return { name, ask, end: (by) => remove(by, `${path}/${name}`) };
  },
};

/** A user who sees an instance, of which the server runs nothing. */
const instanceKind = (what: string, spec: (user: string) => object, taken: object): RevocationKind => ({
  what,
  async make(admin, name) {
    const key = await newUser(admin, name);
    const path = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances`;
    await create(admin, path, name, { spec: { owner: { user: "admin" }, external: true, ...spec(name) } });
    return { name, ask: byPath(key, `${path}/${name}`), end: (by) => patch(by, `${path}/${name}`, { spec: taken }) };
  },
});
const projectKind = (what: string, spec: (user: string) => object, taken: object): RevocationKind => ({
  what,
  async make(admin, name) {
    const key = await newUser(admin, name);
    await create(admin, PROJECTS, name, { spec: { owner: { user: "admin" }, ...spec(name) } });
    const path = `${PROJECTS}/${name}`;
    return { name, ask: byPath(key, path), end: (by) => patch(by, path, { spec: taken }) };
  },
});

const EXCHANGE = {
  grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
  subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
};
const jwksOf = ({ jwk }: IssuerSigningKey): string => JSON.stringify({ keys: [jwk] });
/** A key that a rule issued for a token of its issuer, in the scope of one project. */
const ruleKind = (
  what: string,
  rules: string,
  end: (admin: Administrator, rule: string) => Promise<unknown>,
): RevocationKind => ({
  what,
  async make(admin, name) {
    const [url, audience] = [`https://${name}.example.com`, "https://postern.example"];
    await create(admin, USERS, name, { spec: { kind: "Bot" } });
    const signingKey = await newSigningKey("ES256");
    const [issuer, claims] = [{ url, jwks: jwksOf(signingKey) }, [{ claim: "sub", values: [name] }]];
    const scope = { projects: [{ project: "default" }] };
    const spec = { issuer, audiences: [audience], claims, user: name, scope };
    const path = `${MANAGEMENT}/${rules}`;
    // A rule that a first try made has another signing key.
    await remove(admin, `${path}/${name}`);
    await create(admin, path, name, { spec });
    const subject_token = await signClaims(url, { sub: name, aud: audience }, signingKey);
    const rule = rules.startsWith("namespaces/") ? `default/${name}` : name;
    const form = { ...EXCHANGE, subject_token, rule };
    const { body } = await expectSuccess(admin.client.send("/oauth/token", { form }));
    return { name, ask: byKey(body.access_token), end: (by) => end(by, `${path}/${name}`) };
  },
});

const rotate = (admin: Administrator, name: string, more: object = {}): Promise<unknown> =>
  send(admin, `${KEYS}/${name}/rotate`, { body: { spec: { nonce: "1", ...more } } });
const disable = (admin: Administrator, path: string): Promise<unknown> =>
  patch(admin, path, { spec: { disabled: true } });

const keysOfVictims = new WeakMap<Victim, string>();
/** Reports of one address are taken once a second; many keys may stand in one. */
const leakKind: RevocationKind = {
  what: "reported as leaked",
  async make(admin, name) {
    const key = await newKey(admin, name, { user: "admin" });
    const victim = { name, ask: byKey(key), end: (by: Administrator) => report(by, [key]) };
    keysOfVictims.set(victim, key);
    return victim;
  },
  endAll: (admin, victims) =>
    report(
      admin,
      victims.map((victim) => keysOfVictims.get(victim) ?? ""),
    ),
};
const report = ({ client }: Administrator, keys: readonly string[]): Promise<unknown> =>
  expectSuccess(client.send("/leaks", { body: { keys } }));

export const REVOCATION_KINDS: readonly RevocationKind[] = [
  keyKind("deleted", (admin, name) => remove(admin, `${KEYS}/${name}`)),
  keyKind("disabled", (admin, name) => disable(admin, `${KEYS}/${name}`)),
  keyKind("rotated", (admin, name) => rotate(admin, name)),
  keyKind("expired by a shorter TTL", (admin, name) => patch(admin, `${KEYS}/${name}`, { spec: { ttl: 1 } })),
  keyKind("revoked in the ledger", async (admin, name, key) => {
    // Refused where the first try has done it.
    const { status } = await admin.client.send(`${KEYS}/${name}/credentials`, {
      key: admin.key,
      body: { spec: { revoke: [key.split("_")[1]] } },
    });
    if (status >= 300 && status !== 422) throw new Error(String(status));
  }),
  leakKind,
  narrowedKind("scope narrowed", { scope: {} }),
  narrowedKind("rules narrowed", { rules: [{ verbs: ["delete"] }] }),
  userKind("owner locked", (admin, name) => disable(admin, `${USERS}/${name}`)),
  userKind("owner deleted", (admin, name) => remove(admin, `${USERS}/${name}`)),
  {
    what: "owning team deleted",
    async make(admin, name) {
      await create(admin, TEAMS, name, {});
      const key = await newKey(admin, name, { team: name });
      return { name, ask: byKey(key), end: (by) => remove(by, `${TEAMS}/${name}`) };
    },
  },
  childKind("parent disabled", (admin, name) => disable(admin, `${KEYS}/${name}`)),
  childKind("parent deleted", (admin, name) => remove(admin, `${KEYS}/${name}`)),
  childKind("parent narrowed", (admin, name) =>
    patch(admin, `${KEYS}/${name}`, { spec: { scope: { virtualClusters: null } } }),
  ),
  childKind("parent rotated as compromised", (admin, name) => rotate(admin, name, { compromised: true })),
  certificateKind("certificate revoked", revokeCertificatesOf),
  certificateKind("certificate's key disabled", (admin, name) => disable(admin, `${KEYS}/${name}`)),
  boundKind("ClusterRoleBinding deleted", bindUser, (admin, name) =>
    remove(admin, `${RBAC}/clusterrolebindings/${name}`),
  ),
  boundKind("binding without its subject", bindUser, (admin, name) =>
    patch(admin, `${RBAC}/clusterrolebindings/${name}`, { subjects: [] }),
  ),
  boundKind("role without its rules", bindUser, (admin, name) =>
    patch(admin, `${RBAC}/clusterroles/${name}`, { rules: [] }),
  ),
  boundKind("role deleted", bindUser, (admin, name) => remove(admin, `${RBAC}/clusterroles/${name}`)),
  boundKind(
    "user's group taken",
    async (admin, name) => {
      await patch(admin, `${USERS}/${name}`, { spec: { groups: [`g-${name}`] } });
      await bindGroup(admin, name, `g-${name}`);
    },
    (admin, name) => patch(admin, `${USERS}/${name}`, { spec: { groups: [] } }),
  ),
  boundKind(
    "removed from a team",
    async (admin, name) => {
      await create(admin, TEAMS, name, { spec: { users: [name] } });
      await bindGroup(admin, name, `postern:team:${name}`);
    },
    (admin, name) => patch(admin, `${TEAMS}/${name}`, { spec: { users: [] } }),
  ),
  {
    what: "right to impersonate taken",
    async make(admin, name) {
      const key = await newUser(admin, name);
      const rules = [{ verbs: ["impersonate"], apiGroups: [""], resources: ["users", "groups"] }];
      await create(admin, `${RBAC}/clusterroles`, name, { rules });
      await bindUser(admin, name);
      const headers = { "impersonate-user": name, "impersonate-group": `postern:user:${name}` };
      return {
        name,
        ask: byPath(key, `${USERS}/${name}`, headers),
        end: (by) => remove(by, `${RBAC}/clusterrolebindings/${name}`),
      };
    },
  },
  projectKind(
    "member removed from the project",
    (name) => ({ members: [{ kind: "User", name, clusterRole: "postern:project-user" }] }),
    { members: [] },
  ),
  projectKind("project got another owner", (user) => ({ owner: { user } }), { owner: { user: "admin" } }),
  instanceKind(
    "entry of spec.access removed",
    (user) => ({ access: [{ verbs: ["get", "use"], subresources: [], users: [user] }] }),
    { access: [] },
  ),
  instanceKind("instance got another owner", (user) => ({ owner: { user } }), { owner: { user: "admin" } }),
  insideKind("RoleBinding inside a cluster deleted", (admin, name) =>
    remove(admin, `${INSIDE_RBAC}/namespaces/default/rolebindings/${name}`),
  ),
  insideKind("role inside a cluster without its rules", (admin, name) =>
    patch(admin, `${INSIDE_RBAC}/namespaces/default/roles/${name}`, { rules: [] }),
  ),
  insideKind("ServiceAccount inside a cluster deleted", (admin, name) =>
    remove(admin, `${INSIDE_CORE}/serviceaccounts/${name}`),
  ),
  tokenSecretKind,
  ruleKind("trust rule deleted", "clustertrustrules", remove),
  ruleKind("trust rule disabled", "clustertrustrules", disable),
  ruleKind("trust rule of a project deleted", "namespaces/p-default/trustrules", remove),
];
