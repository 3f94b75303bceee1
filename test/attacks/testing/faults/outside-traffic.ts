// Requests for which the server asks others: identity providers, issuers of tokens, webhooks. Beside them those that its threads work for.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  converting,
  startWebhookServer,
} from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import type { HttpClient } from "../../../e2e/testing/http-client.ts";
import { MANAGEMENT, type ProxiedPod } from "../../../e2e/testing/proxied-pod.ts";
import { JWT } from "../exchanging.ts";
import { browserOf, provideSignIn, SESSION } from "../signing-in.ts";
import { type Kinds, note } from "./traffic.ts";

const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const API = MANAGEMENT.replace("/kubernetes/management", "");
const DEFINITIONS = `${CLUSTER}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
const ADMISSION = `${CLUSTER}/apis/admissionregistration.k8s.io/v1`;
const CLIENT = "client-of-ours";
const AUDIENCE = "https://postern.example";
const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const YAML = { "content-type": "application/yaml", accept: "application/yaml" };

export type Outside = AsyncDisposable & {
  /** As `createTraffic` takes them. */
  kinds(round: () => number, http: HttpClient): Kinds;
};

export async function startOutside({ server, admin, post }: ProxiedPod): Promise<Outside> {
  const [issuer, webhook, ca] = await Promise.all([serveIssuer(), startWebhookServer(), readFile(server.caFile)]);
  const place = { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem };
  let nonce = "";
  provideSignIn(issuer, () => issuer.sign({ sub: "sub-1", name_here: "person-1", aud: CLIENT, nonce }));
  webhook.raw.set(
    "/convert",
    converting((object, apiVersion) => ({ ...object, apiVersion })),
  );
  await post(`${API}/identityproviders`, {
    metadata: { name: "idp" },
    spec: {
      issuer: place,
      clientId: CLIENT,
      claimMappings: { username: { claim: "name_here" } },
      createUsers: true,
    },
  });
  for (const name of ["bot", "directory"]) await post(`${API}/users`, { metadata: { name }, spec: { kind: "Bot" } });
  await post(`${API}/clustertrustrules`, {
    metadata: { name: "main" },
    spec: {
      issuer: place,
      audiences: [AUDIENCE],
      claims: [{ claim: "repository_id", values: ["74"] }],
      user: "bot",
      scope: { projects: [{ project: "default" }] },
    },
  });
  await post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "directory" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "directory" }],
  });
  const spec = { user: "directory", scope: { roles: [{ role: "scim" }] } };
  const { key } = (await post(`${API}/ownedaccesskeys`, { metadata: { name: "directory" }, spec })).spec;

  const clientConfig = { caBundle: webhook.caBundle, url: webhook.url.replace("127.0.0.1", "localhost") };
  await post(DEFINITIONS, {
    metadata: { name: "hosts.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "hosts", kind: "Host" },
      versions: ["v1", "v2"].map((name) => ({
        name,
        served: true,
        storage: name === "v1",
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { names: { type: "array", maxItems: 100, items: { type: "string", maxLength: 10 } } },
                "x-kubernetes-validations": [{ rule: "!has(self.names) || self.names.all(n, n.matches('^[a-z]+$'))" }],
              },
            },
          },
        },
      })),
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { ...clientConfig, url: `${clientConfig.url}/convert` },
        },
      },
    },
  });
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] }];
  await post(`${ADMISSION}/mutatingwebhookconfigurations`, {
    metadata: { name: "a" },
    webhooks: [
      {
        name: "a.example.com",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 5,
        rules,
        clientConfig,
        matchConditions: [{ name: "named", expression: "object.metadata.name.startsWith('s-')" }],
      },
    ],
  });
  await post(`${ADMISSION}/validatingadmissionpolicies`, {
    metadata: { name: "p" },
    spec: {
      matchConstraints: { resourceRules: rules },
      validations: [{ expression: "object.metadata.name.matches('^[a-z0-9-]+$')" }],
    },
  });
  await post(`${ADMISSION}/validatingadmissionpolicybindings`, {
    metadata: { name: "p" },
    spec: { policyName: "p", validationActions: ["Deny"] },
  });

  const addressIn = (round: number): string => `127.0.${3 + ((round >> 7) & 63)}.${1 + (round & 127)}`;

  return {
    kinds: (round, ask) => {
      const write = (method: string, path: string, body?: object | string, headers: Record<string, string> = {}) =>
        ask(path, { key: admin, method, headers, ...(body === undefined ? {} : { body }) });
      const scim = (method: string, path: string, body?: object) =>
        ask(`/scim/v2/${path}`, {
          key,
          method,
          headers: { "content-type": "application/scim+json" },
          ...(body === undefined ? {} : { body }),
        });
      const hosts = (version: string) => `${CLUSTER}/apis/example.com/${version}/namespaces/default/hosts`;
      return {
        "sign-in at a provider": async () => {
          const browse = browserOf(server.url, ca, addressIn(round()));
          const left = await browse("/login/start?provider=idp", (await browse("/login")).cookies);
          note(left.status);
          const { searchParams } = new URL(left.location, server.url);
          nonce = searchParams.get("nonce") ?? "";
          const query = {
            code: randomBytes(8).toString("hex"),
            state: searchParams.get("state") ?? "",
            iss: issuer.url,
          };
          const back = await browse(`/login/callback/idp?${new URLSearchParams(query)}`, left.cookies);
          note(`${back.status} ${back.cookies.has(SESSION)}`);
          note((await browse("/profile/access-keys", back.cookies)).status);
        },
        "exchange of a token": async () => {
          const token = await issuer.sign({ aud: AUDIENCE, sub: "s", repository_id: "74" });
          const fields = { grant_type: GRANT, subject_token: token, subject_token_type: JWT, audience: "main" };
          await ask("/oauth/token", { method: "POST", body: new URLSearchParams(fields).toString(), headers: FORM });
        },
        SCIM: async () => {
          const name = `scim-${round()}`;
          await scim("GET", "Users?count=10");
          await scim("POST", "Users", { userName: name });
          await scim("PATCH", `Users/${name}`, { Operations: [{ op: "replace", path: "active", value: false }] });
          await scim("POST", "Groups", { displayName: name, members: [{ value: name }] });
          await scim("DELETE", `Groups/${name}`);
          await scim("DELETE", `Users/${name}`);
        },
        "admission by a webhook and a policy": async () => {
          const path = `${CLUSTER}/api/v1/namespaces/default/secrets`;
          await write("POST", path, { metadata: { name: `s-${round()}` } });
          await write("DELETE", `${path}/s-${round()}`);
        },
        "conversion by a webhook, and rules of a definition": async () => {
          const name = `h-${round()}`;
          await write("POST", hosts("v1"), {
            apiVersion: "example.com/v1",
            kind: "Host",
            metadata: { name },
            spec: { names: ["a", "b"] },
          });
          await write("GET", `${hosts("v2")}/${name}`);
          await write("GET", hosts("v2"));
          await write("DELETE", `${hosts("v1")}/${name}`);
        },
        YAML: async () => {
          const path = `${CLUSTER}/api/v1/namespaces/default/configmaps`;
          const lines = Array.from({ length: 3_000 }, (_, at) => `  k${at}: some text`).join("\n");
          await write("POST", path, `metadata:\n  name: y-${round()}\ndata:\n${lines}\n`, YAML);
          await write("DELETE", `${path}/y-${round()}`, undefined, YAML);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([issuer, webhook].map((each) => each[Symbol.asyncDispose]()));
    },
  };
}
