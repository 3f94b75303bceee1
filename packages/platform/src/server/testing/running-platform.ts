// The whole platform on a port of its own, with a store in memory, for tests that go over the wire.

import { readFile } from "node:fs/promises";
import { http1, type TestResponse } from "@postern/apiserver/transport/testing/test-clients";
import { loadConfiguration } from "../../config/configuration.ts";
import { startServer } from "../../main.ts";
import { logToFile } from "../../testing/log-to-file.ts";
import { temporaryDirectory } from "../../testing/temporary-directory.ts";

export const GROUP = "management.postern";

export type PlatformCall = {
  readonly method?: string;
  readonly path: string;
  /** Sent as a bearer token; default: the administrator's key. */
  readonly token?: string | undefined;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: object;
  /** A client certificate in place of the token. */
  readonly certificate?: { readonly key: string; readonly cert: string };
};

export type RunningPlatform = Awaited<ReturnType<typeof startPlatform>>;

/** Has what a first start makes: user `admin`, project `default`, virtual cluster `p-default/demo`, which is ready. */
export async function startPlatform(flags: { readonly [flag: string]: string } = {}) {
  const temporary = await temporaryDirectory("postern-platform-");
  const workingDirectory = temporary.path;
  const options = {
    store: "memory",
    "secure-port": "0",
    "log-level": "debug",
    "shutdown-drain-seconds": "0",
    ...flags,
  };
  const configuration = await loadConfiguration({ flags: new Map(Object.entries(options)), workingDirectory });
  const server = await startServer(configuration, logToFile(workingDirectory));
  const port = Number(new URL(server.url).port);
  const adminKey = /token: (\S+)/.exec(await readFile(server.adminKubeConfigPath, "utf8"))?.[1] ?? "";

  async function request({ method, path, token, headers, body, certificate }: PlatformCall) {
    const response = await http1({
      port,
      path,
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        ...(certificate === undefined ? { authorization: `Bearer ${token ?? adminKey}` } : {}),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...certificate,
    });
    return { ...response, body: parse(response) };
  }

  /** Creates an object of the platform. `path` is below the group, such as `users`. */
  async function create(path: string, object: object): Promise<any> {
    const answer = await request({ path: `/kubernetes/management/apis/${GROUP}/v1/${path}`, body: object });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** Asks until the answer is as it should be. */
  async function until(call: PlatformCall, holds: (answer: { status: number; body: any }) => boolean) {
    for (;;) {
      const answer = await request(call);
      if (holds(answer)) return answer;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  const demo = `/kubernetes/management/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances/demo`;
  await until({ path: demo }, ({ body }) => body.status?.phase === "Ready");
  return {
    server,
    port,
    adminKey,
    request,
    create,
    until,
    async [Symbol.asyncDispose]() {
      await server.close();
      await temporary[Symbol.asyncDispose]();
    },
  };
}

const parse = ({ body }: TestResponse): any => (body.startsWith("{") ? JSON.parse(body) : body);
