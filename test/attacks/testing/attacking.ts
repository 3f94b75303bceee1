// The real server as a process of its own, and what an attacker sends to it: single requests, each with a credential of its own.

import { readFile } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { type PosternProcess, type PosternSurroundings, startPostern } from "../../e2e/testing/postern-process.ts";

export type Attack = {
  /** Default: POST with a body, GET without one. */
  readonly method?: string;
  /** Below `/apis/management.postern/v1/`, unless it begins with a slash. */
  readonly path: string;
  /** The access key; "" for none. Default: the administrator's. */
  readonly as?: string;
  /** PEM, instead of a key. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** An object is sent as JSON, a text as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The address of this machine that it comes from, such as 127.0.0.2: limits count by address. */
  readonly from?: string;
};

export type Answered = {
  readonly status: number;
  readonly text: string;
  readonly body: any;
  readonly warnings: readonly string[];
  /** The first that the answer sets; "" if it sets none. */
  readonly cookie: string;
};

export type AttackedServer = Awaited<ReturnType<typeof startAttacked>>;

export const MERGE = { "content-type": "application/merge-patch+json" };
export const JSON_PATCH = { "content-type": "application/json-patch+json" };
export const APPLY = { "content-type": "application/apply-patch+yaml" };

/** Starts `postern serve` with an empty store of its own. */
export async function startAttacked(flags: readonly string[] = [], surroundings: PosternSurroundings = {}) {
  const directory = await temporaryDirectory();
  const process = await startPostern(directory.path, flags, surroundings);
  return { ...(await attackerOf(process)), process, directory: directory.path, [Symbol.asyncDispose]: end };

  async function end(): Promise<void> {
    await process[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  }
}

/** Speaks to a server that runs. The administrator's key is that of its folder unless another one is given. */
export async function attackerOf(process: PosternProcess, adminKey?: string) {
  const ca = await readFile(process.caFile);
  const config = adminKey ?? (await readFile(process.adminKubeconfig, "utf8"));
  const admin = adminKey ?? /token: (\S+)/.exec(config)?.[1];
  if (admin === undefined) throw new Error("the administrator's kubeconfig holds no key");
  const agents = new Map<string, Agent>();
  const agentFrom = (localAddress: string): Agent => {
    const agent = agents.get(localAddress) ?? new Agent({ ca, keepAlive: true, localAddress });
    agents.set(localAddress, agent);
    return agent;
  };

  const send = ({
    path,
    as = admin,
    body,
    headers = {},
    certificate,
    from = "127.0.0.1",
    ...rest
  }: Attack): Promise<Answered> => {
    const { method = body === undefined ? "GET" : "POST" } = rest;
    const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = httpsRequest(
        new URL(path.startsWith("/") ? path : `/apis/management.postern/v1/${path}`, process.url),
        {
          method,
          ...(certificate === undefined
            ? { agent: agentFrom(from) }
            : { ca, ...certificate, agent: false, localAddress: from }),
          headers: {
            ...(certificate === undefined && as !== "" ? { authorization: `Bearer ${as}` } : {}),
            ...(text === undefined
              ? {}
              : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const answer = Buffer.concat(chunks).toString();
            const isJson = answer.startsWith("{");
            const warnings = response.rawHeaders.filter(
              (_, at, all) => at % 2 === 1 && all[at - 1]?.toLowerCase() === "warning",
            );
            const parsed = isJson ? JSON.parse(answer) : undefined;
            const [cookie = ""] = response.headers["set-cookie"] ?? [];
            resolve({ status: response.statusCode ?? 0, text: answer, body: parsed, warnings, cookie });
          });
        },
      );
      sent.on("error", reject);
      sent.end(text);
    });
  };

  /** As the administrator; throws unless it is answered with a success. */
  const must = async (attack: Attack): Promise<any> => {
    const { status, text, body } = await send(attack);
    if (status >= 300) throw new Error(`${attack.method ?? ""} ${attack.path}: ${status} ${text}`);
    return body;
  };

  return {
    admin,
    send,
    must,
    /** Makes a user, and resolves with an access key of its own that is not narrowed. */
    async user(name: string, spec: object = {}): Promise<string> {
      await must({ path: "users", body: { metadata: { name }, spec } });
      return (
        await must({ path: "ownedaccesskeys", body: { metadata: { name: `${name}-key` }, spec: { user: name } } })
      ).spec.key;
    },
    /** Makes an access key; resolves with its value. */
    async key(name: string, spec: object, as = admin): Promise<string> {
      return (await must({ path: "ownedaccesskeys", as, body: { metadata: { name }, spec } })).spec.key;
    },
    /** A ClusterRole of that name, bound to a user. */
    async grant(name: string, user: string, rules: readonly object[]): Promise<void> {
      const rbac = "/apis/rbac.authorization.k8s.io/v1";
      await must({ path: `${rbac}/clusterroles`, body: { metadata: { name }, rules } });
      await must({
        path: `${rbac}/clusterrolebindings`,
        body: {
          metadata: { name },
          subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }],
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
        },
      });
    },
    /** Whether the server still lets its bearer in. */
    isAccepted: async (key: string): Promise<boolean> =>
      (await send({ path: "selves", as: key, body: {} })).status === 201,
  };
}
