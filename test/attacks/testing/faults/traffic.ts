// Requests of every kind at once, each of which has to end.

import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { WebSocket } from "ws";
import type { HttpClient } from "../../../e2e/testing/http-client.ts";
import { POD_PATH, type ProxiedPod } from "../../../e2e/testing/proxied-pod.ts";

const MANAGEMENT = "/apis/management.postern/v1";
const DEMO = "/kubernetes/project/default/virtualcluster/demo";
const MAPS = `${DEMO}/api/v1/namespaces/default/configmaps`;
const PODS = POD_PATH.replace(/\/api\/.*/, "");
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const APPLY = { "content-type": "application/apply-patch+yaml" };
const MERGE = { "content-type": "application/merge-patch+json" };

/** Longer than any of these takes on a busy machine; an exchange that is left open would take for ever. */
const PATIENCE_MS = 45_000;

export type Round = {
  /** The names of those that did not end. */
  readonly open: readonly string[];
  /** By name: statuses and the like, the same in every round in which nothing fails. */
  readonly outcomes: ReadonlyMap<string, string>;
};

export type Traffic = {
  /** Sends all requests. */
  send(): Promise<Round>;
};

/** Requests by their name. */
export type Kinds = Readonly<Record<string, () => Promise<unknown>>>;

const outcomes = new AsyncLocalStorage<string[]>();
/** Adds to the outcomes of the requests that call it. */
export const note = (outcome: string | number | undefined): void => void outcomes.getStore()?.push(String(outcome));

export async function createTraffic(
  { server, pods, http: ask, admin }: ProxiedPod,
  more: (round: () => number, http: HttpClient) => Kinds = () => ({}),
): Promise<Traffic> {
  const http: HttpClient = async (path, options) => {
    const answer = await ask(path, options);
    note(answer.status);
    return answer;
  };
  const ca = await readFile(server.caFile);
  const { host, port } = new URL(server.url);
  const authorization = `Bearer ${admin}`;
  let round = 0;

  const get = (path: string, headers: Record<string, string> = {}) => http(path, { key: admin, headers });
  const write = (method: string, path: string, body?: object | string, headers: Record<string, string> = {}) =>
    http(path, { key: admin, method, headers, ...(body === undefined ? {} : { body }) });

  /** A response that is left after its first bytes. */
  const leave = (path: string, headers: Record<string, string> = {}): Promise<void> =>
    new Promise((resolve) => {
      const sent = request(
        `${server.url}${path}`,
        { ca, agent: false, headers: { authorization, ...headers } },
        (response) => {
          note(response.statusCode);
          response.once("data", () => {
            note("data");
            sent.destroy();
          });
          response.on("error", () => undefined).on("close", () => resolve());
        },
      );
      sent.on("error", () => resolve()).end();
    });

  /** A body that breaks off. */
  const breakOff = (path: string): Promise<void> =>
    new Promise((resolve) => {
      const headers = { authorization, "content-type": "application/json", "transfer-encoding": "chunked" };
      const sent = request(`${server.url}${path}`, { ca, agent: false, method: "POST", headers });
      sent.on("error", () => resolve()).on("response", (response) => response.resume().on("close", () => resolve()));
      sent.write('{"metadata":');
      setImmediate(() => sent.destroy());
    });

  const http2 = (session: ClientHttp2Session, path: string, body?: object, reset = false): Promise<void> =>
    new Promise((resolve) => {
      const stream = session.request({
        ":path": path,
        ":method": body === undefined ? "GET" : "POST",
        authorization,
        "content-type": "application/json",
      });
      stream.on("error", () => undefined).on("close", () => resolve());
      stream.on("response", ({ ":status": status }) => note(status));
      if (reset) stream.once("data", () => stream.close(8));
      else stream.resume();
      stream.end(body === undefined ? undefined : JSON.stringify(body));
    });

  const webSocket = (path: string, protocol: string, then: (socket: WebSocket) => void): Promise<void> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`wss://${host}${path}`, protocol, { ca, headers: { authorization } });
      socket.on("error", () => resolve()).on("close", () => resolve());
      socket.once("message", () => then(socket));
    });

  const raw = (bytes: string): Promise<void> =>
    new Promise((resolve) => {
      const socket = connectTls({
        host: "127.0.0.1",
        port: Number(port),
        ca,
        ALPNProtocols: ["http/1.1"],
        servername: "localhost",
      });
      socket
        .on("error", () => resolve())
        .on("close", () => resolve())
        .resume();
      socket.once("secureConnect", () => socket.write(bytes));
    });

  /** All but the first line of a response, in whose midst the upstream breaks off. */
  const brokenUpstream = async (): Promise<void> => {
    const path = `${PODS}/api/v1/namespaces/default/pods/web/log?follow=true&x=${round}`;
    const ended = new Promise<void>((resolve) => {
      const sent = request(`${server.url}${path}`, { ca, agent: false, headers: { authorization } }, (response) => {
        response.once("data", () => {
          note("data");
          for (const open of pods.open) open.destroy();
        });
        response.on("error", () => undefined).on("close", () => resolve());
      });
      sent.on("error", () => resolve()).end();
    });
    await ended;
  };

  const writeThrough = async (): Promise<void> => {
    const name = `m-${round}`;
    const watch = leave(`${MAPS}?watch=true`, { accept: TABLE });
    await write("POST", MAPS, { metadata: { name, labels: { a: "b" } }, data: { x: "y" } });
    await write("PATCH", `${MAPS}/${name}`, { data: { x: "z" } }, MERGE);
    await write(
      "PATCH",
      `${MAPS}/${name}?fieldManager=t&force=true`,
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { q: "r" } }),
      APPLY,
    );
    await get(`${MAPS}?labelSelector=a%3Db&limit=1`);
    await get(MAPS, { accept: TABLE });
    await get(MAPS, { accept: "application/vnd.kubernetes.protobuf" });
    await write("DELETE", `${MAPS}/${name}`);
    await watch;
  };

  const keys = async (): Promise<void> => {
    const name = `k-${round}`;
    const watch = leave(`${MANAGEMENT}/ownedaccesskeys?watch=true`);
    await write("POST", `${MANAGEMENT}/ownedaccesskeys`, { metadata: { name }, spec: { ttl: 3_600 } });
    await get(`${MANAGEMENT}/ownedaccesskeys`, { accept: TABLE });
    await write("PATCH", `${MANAGEMENT}/ownedaccesskeys/${name}`, { spec: { displayName: "x" } }, MERGE);
    await write("DELETE", `${MANAGEMENT}/ownedaccesskeys/${name}`);
    await watch;
  };

  const overHttp2 = async (): Promise<void> => {
    const session = connectHttp2(server.url, { ca });
    session.on("error", () => undefined);
    await Promise.all([
      http2(session, `${MANAGEMENT}/ownedaccesskeys`),
      http2(
        session,
        `${MANAGEMENT}/ownedaccesskeys?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
        undefined,
        true,
      ),
      http2(session, MAPS, { metadata: { generateName: "h2-" } }),
      http2(session, `${PODS}/api/v1/namespaces/default/pods/web`),
      http2(session, `${PODS}/api/v1/namespaces/default/pods/web/log?follow=true`, undefined, true),
    ]);
    session.destroy();
  };

  const exec = `${PODS}/api/v1/namespaces/default/pods/web/exec?command=echo&command=hi&stdout=true`;
  const sleep = `${PODS}/api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&command=${encodeURIComponent("echo hi; sleep 60")}&stdout=true`;

  const kinds: Kinds = {
    ...more(() => round, http),
    reads: async () => {
      for (const path of [
        "/readyz?verbose",
        "/metrics",
        "/version",
        "/api",
        "/apis",
        "/openapi/v3",
        `${MANAGEMENT}/projects/default`,
        `${DEMO}/openapi/v2`,
      ])
        await get(path);
    },
    "writes in a virtual cluster": writeThrough,
    keys: keys,
    "HTTP/2": overHttp2,
    "watch as WebSocket": () =>
      webSocket(
        `${MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
        "base64.binary.k8s.io",
        (socket) => socket.close(),
      ),
    exec: () => webSocket(exec, "v5.channel.k8s.io", () => undefined),
    "exec that is left": () => webSocket(sleep, "v5.channel.k8s.io", (socket) => socket.terminate()),
    "exec whose upstream breaks off": () =>
      webSocket(sleep, "v5.channel.k8s.io", () => {
        for (const open of pods.open) open.destroy();
      }),
    "proxied body": () => write("POST", `${PODS}/api/v1/namespaces/default/pods`, { metadata: { name: "x" } }),
    "proxied body that breaks off": () => breakOff(`${PODS}/api/v1/namespaces/default/pods`),
    "body that breaks off": () => breakOff(MAPS),
    "proxied log that is left": () => leave(`${PODS}/api/v1/namespaces/default/pods/web/log?follow=true`),
    "proxied log whose upstream breaks off": brokenUpstream,
    console: async () => {
      const page = await http("/", { headers: { accept: "text/html" } });
      const assets = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = ""]) => path);
      // Requests without a credential are limited.
      for (const path of [...assets.slice(0, 2), "/login"])
        await http(path, { headers: { accept: "text/html,*/*", "accept-encoding": "gzip" } });
    },
    "audit search": () => get("/audit/events?user=admin"),
    "sign-in": async () => {
      await http("/login/key", { method: "POST", body: { key: admin }, headers: { origin: server.url } });
      await http("/login/callback/none?code=x&state=y");
      await http("/oauth/token", {
        method: "POST",
        body: "grant_type=x",
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
    },
    "a malformed request": () => raw("GET / HTTP/9.9\r\n\r\n"),
    "a connection that is no TLS": () =>
      new Promise((resolve) => {
        const socket = connectTcp(Number(port), "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\n\r\n"));
        socket.on("error", resolve).on("close", resolve).resume();
      }),
    "no credential": () => http(`${MANAGEMENT}/projects`),
    "a wrong credential": () => http(`${MANAGEMENT}/projects`, { key: "wrong" }),
  };

  return {
    async send() {
      round++;
      const open = new Set(Object.keys(kinds));
      const ends = new Map<string, string>();
      const timeout = new AbortController();
      const all = Promise.all(
        Object.entries(kinds).map(([name, run]) =>
          outcomes.run([], async () => {
            await run().catch((error: Error) => note(error.message));
            ends.set(name, outcomes.getStore()?.sort().join(" ") ?? "");
            open.delete(name);
          }),
        ),
      );
      const timer = setTimeout(() => timeout.abort(), PATIENCE_MS);
      await Promise.race([all, once(timeout.signal, "abort")]);
      clearTimeout(timer);
      return { open: [...open], outcomes: ends };
    },
  };
}
