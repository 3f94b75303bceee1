// Several threads of one server, each with connections of its own, are one server for clients: what is written or revoked over one connection holds on all
// others when it is answered, each event and audit line comes once, and the metrics are of all.

import { createHash, randomUUID, X509Certificate } from "node:crypto";
import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserOf, provideSignIn } from "../attacks/testing/signing-in.ts";
import { CONFIG_MAPS, createCluster, INSTANCES, metric, POLL, pathOf } from "../attacks/testing/threads/clusters.ts";
import { makeCompanyPki } from "./testing/company-pki.ts";
import { type Connections, NODE_WITH_THREADS, openConnections, WHY_NO_THREADS } from "./testing/front-threads.ts";
import { adminKey, type HttpClient, openResponse } from "./testing/http-client.ts";
import {
  ENDED_THREADS,
  ENTRY,
  NODE,
  type PosternProcess,
  startPostern,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const PROJECTS = "/apis/management.postern/v1/projects";
const CONNECTIONS = 12;

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

const start = (dataDir: string, threads: number, flags: readonly string[]): Promise<PosternProcess> =>
  startPostern(
    dataDir,
    [
      "--threads",
      String(threads),
      "--failed-logins-per-minute",
      "0",
      "--proxy-allowed-addresses",
      "127.0.0.1/32",
      ...flags,
    ],
    {
      node: NODE_WITH_THREADS ?? "",
      env: { NODE_OPTIONS: `--import=${ENDED_THREADS}`, ENDED_THREADS: "front-" },
    },
  );

describe.skipIf(NODE_WITH_THREADS === undefined).each([
  ["sqlite", 2],
  ["sqlite", 3],
  ["etcd", 2],
] as const)("on %s with %i threads", (store, threads) => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let etcd: EtcdCluster | undefined;
  let server: PosternProcess;
  let connections: Connections;
  let clients: readonly HttpClient[] = [];
  let admin = "";
  let send: HttpClient;
  const isMissing = store === "etcd" ? whyNoEtcd() : undefined;

  beforeAll(async () => {
    if (isMissing !== undefined) return;
    directory = await temporaryDirectory();
    etcd = store === "etcd" ? await startEtcd() : undefined;
    const flags =
      etcd === undefined
        ? ["--store", "sqlite"]
        : ["--store", `etcd://${etcd.endpoints[0]}`, "--etcd-new-installation", "--etcd-compaction", "always"];
    // With three, virtual clusters run in threads of their own.
    const clusters = threads === 3 ? ["--cluster-threads", "1"] : [];
    server = await start(join(directory.path, "data"), threads, [...flags, ...clusters, "--print-sign-in-link"]);
    connections = await openConnections(server, CONNECTIONS);
    clients = connections.clients;
    [send = clients[0] as HttpClient] = clients;
    admin = await adminKey(server);
  }, 120_000);
  afterAll(async () => {
    connections?.[Symbol.dispose]();
    await server?.[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  it("a DPoP proof is accepted once, whichever connection it comes over", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = await exportJWK(publicKey);
    const confirmation = { jwkThumbprint: await calculateJwkThumbprint(jwk) };
    const made = await send(KEYS, {
      key: admin,
      body: { metadata: { name: "signing" }, spec: { type: "User", user: "admin", confirmation } },
    });
    const { key } = made.body.spec;
    const proofWith = (nonce: string): Promise<string> =>
      new SignJWT({
        ...{ htm: "GET", htu: server.url + PROJECTS, jti: randomUUID(), nonce },
        ath: createHash("sha256").update(key).digest("base64url"),
      })
        .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk })
        .setIssuedAt()
        .sign(privateKey);
    const prove = (client: HttpClient, dpop: string) =>
      client(PROJECTS, { headers: { authorization: `DPoP ${key}`, dpop } });
    const nonce = String((await prove(send, await proofWith("none"))).headers["dpop-nonce"]);
    for (let round = 0; round < 5; round++) {
      const proof = await proofWith(nonce);
      const answers = await Promise.all(clients.map((client) => prove(client, proof)));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(CONNECTIONS - 1).fill(401)]);
    }
  });

  it("a key that was revoked is accepted on no connection after the answer, and its watches end", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    for (let round = 0; round < 10; round++) {
      const name = `short-lived-${round}`;
      const made = await send(KEYS, {
        key: admin,
        body: { metadata: { name }, spec: { type: "User", user: "admin" } },
      });
      expect(made.status, made.text).toBe(201);
      const { key } = made.body.spec;
      const watches = await Promise.all(
        Array.from({ length: 4 }, () => openResponse(server, `${PROJECTS}?watch=true`, key)),
      );
      expect(watches.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      let answeredAt = Number.POSITIVE_INFINITY;
      let isOver = false;
      let accepted = 0;
      const late: number[] = [];
      const load = clients.map(async (client) => {
        while (!isOver) {
          const sentAt = performance.now();
          const { status } = await client(PROJECTS, { key });
          if (status === 200) accepted++;
          if (status === 200 && sentAt > answeredAt) late.push(sentAt - answeredAt);
          // The first request after the answer of each connection counts.
          if (sentAt > answeredAt) return;
        }
      });
      await expect.poll(() => accepted, POLL).toBeGreaterThan(2 * CONNECTIONS);
      const ended = await (await openAdmin())(`${KEYS}/${name}`, { key: admin, method: "DELETE" });
      answeredAt = performance.now();
      expect(ended.status, ended.text).toBe(200);
      await Promise.all(load);
      isOver = true;
      expect(late).toEqual([]);
      await Promise.all(watches.map((watch) => watch.ended));
    }
  });

  it("a virtual cluster that was deleted runs in no thread any more", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    if (threads !== 3) return skip("virtual clusters run in the threads that serve requests");
    const running = () => metric(send, admin, "postern_thread_clusters");
    const before = await running();
    await createCluster(send, admin, "deleted");
    await Promise.all(clients.map((client) => client(pathOf("deleted", CONFIG_MAPS), { key: admin })));
    expect(await running()).toBeGreaterThan(before + 1);
    const path = `${INSTANCES}/deleted`;
    expect((await send(path, { key: admin, method: "DELETE" })).status).toBe(200);
    await expect.poll(async () => (await send(path, { key: admin })).status, POLL).toBe(404);
    await expect.poll(running, { ...POLL, timeout: 10_000 }).toBe(before);
  });

  /** The connections of the test are busy. */
  const openAdmin = async (): Promise<HttpClient> => {
    const { clients } = await openConnections(server, 1);
    return clients[0] as HttpClient;
  };

  it("what was written over one connection is read over every other, and watched once and in order", async ({
    skip,
  }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const { body: list } = await send("/api/v1/namespaces/p-default/secrets", { key: admin });
    const from = `resourceVersion=${list.metadata.resourceVersion}`;
    const path = "/api/v1/namespaces/p-default/secrets";
    const watches = await Promise.all(
      Array.from({ length: 6 }, () => openResponse(server, `${path}?watch=true&${from}`, admin)),
    );
    const names: string[] = [];
    for (let index = 0; index < 60; index++) {
      const name = `written-${index}`;
      const [writer, reader, lister] = [0, 1, 2].map((more) => clients[(index * 5 + more) % clients.length]);
      const made = await writer?.(path, { key: admin, body: { metadata: { name }, stringData: { a: `${index}` } } });
      expect(made?.status, made?.text).toBe(201);
      const [read, listed] = await Promise.all([
        reader?.(`${path}/${name}`, { key: admin }),
        lister?.(path, { key: admin }),
      ]);
      expect(read?.status).toBe(200);
      expect(listed?.text).toContain(`"${name}"`);
      names.push(name);
    }
    const namesOf = (text: string) => [...text.matchAll(/"name":"(written-\d+)"/g)].map(([, name]) => name);
    for (const watch of watches) await expect.poll(() => namesOf(watch.text()), POLL).toEqual(names);
  });

  it("every request is in the audit log once, in one chain", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const uris = Array.from({ length: 20 * clients.length }, (_, index) => `${PROJECTS}?limit=${100 + index}`);
    await Promise.all(uris.map((uri, index) => clients[index % clients.length]?.(uri, { key: admin })));
    const path = join(server.dataDir, "audit.log");
    const counted = async () => {
      const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
      const found = lines.map((line) => JSON.parse(line).requestURI as string);
      return uris.map((uri) => found.filter((each) => each === uri).length);
    };
    await expect.poll(async () => (await counted()).every((count) => count > 0), POLL).toBe(true);
    expect(new Set(await counted())).toEqual(new Set([1]));
    const verified = await tool(NODE, [ENTRY, "audit", "verify", path]);
    expect(verified.code, verified.stderr).toBe(0);
  });

  it("any connection shows the metrics of all threads", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const series = 'apiserver_request_total{verb="LIST"';
    const before = await metric(send, admin, series, '"clustertrustrules"');
    expect(before).toBe(0);
    await Promise.all(
      clients.map(async (client) => {
        for (let count = 0; count < 5; count++)
          await client("/apis/management.postern/v1/clustertrustrules", { key: admin });
      }),
    );
    for (const client of clients) {
      expect(await metric(client, admin, series, '"clustertrustrules"')).toBe(5 * clients.length);
      expect(await metric(client, admin, "postern_fronts")).toBe(threads);
    }
  });

  it("any connection says how many threads serve requests", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const message = `${threads} threads serve requests`;
    for (const client of clients) {
      const { body } = await client("/doctor", { key: admin });
      expect(body.findings).toContainEqual({ check: "threads", status: "ok", message });
    }
  });

  it("any connection shows the activity of all threads", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const made = await send(KEYS, {
      key: admin,
      body: { metadata: { name: "busy" }, spec: { type: "User", user: "admin" } },
    });
    await Promise.all(
      clients.map(async (client, index) => {
        for (let count = 0; count < 4; count++) await client(PROJECTS, { key: made.body.spec.key });
        await client(PROJECTS, { key: admin, body: { metadata: { name: `made-${index}` }, spec: {} } });
      }),
    );
    for (const client of clients) {
      const { body } = await client("/activity", { key: admin });
      expect(body.used.find(({ name }: any) => name === "busy").count).toBe(4 * clients.length);
      const names = body.changes.map(({ name }: any) => name).filter((name: string) => name.startsWith("made-"));
      expect(names.sort()).toEqual(clients.map((_, index) => `made-${index}`).sort());
    }
  });

  it("quotas of a project are never passed, whichever connections ask at the same moment", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const INSTANCES = "virtualclusterinstances";
    for (let round = 0; round < 4; round++) {
      const name = `full-${round}`;
      const namespace = `p-${name}`;
      const project = { ownedaccesskeys: "3", [INSTANCES]: "3", "storage.objects": "20" };
      await send(PROJECTS, { key: admin, body: { metadata: { name }, spec: { quotas: { project } } } });
      const paths = {
        keys: KEYS,
        instances: `/apis/management.postern/v1/namespaces/${namespace}/${INSTANCES}`,
        secrets: `/api/v1/namespaces/${namespace}/secrets`,
      };
      const make = async (path: string, spec?: object) => {
        const answers = await Promise.all(
          clients.flatMap((client) =>
            [0, 1].map(() => client(path, { key: admin, body: { metadata: { generateName: `${name}-` }, spec } })),
          ),
        );
        return answers.filter(({ status }) => status === 201).length;
      };
      // All servers on etcd have to know the project first.
      for (const client of clients)
        await expect.poll(async () => (await client(`${PROJECTS}/${name}`, { key: admin })).status, POLL).toBe(200);
      expect(await make(paths.keys, { user: "admin", scope: { projects: [{ project: name }] } })).toBe(3);
      expect(await make(paths.instances, { owner: { user: "admin" } })).toBe(3);
      await make(paths.secrets);
      const { text } = await send(paths.secrets, { key: admin, body: { metadata: { name: "one-more" } } });
      expect(text).toContain("it has 20 objects of 20");
    }
  });

  it("bytes of a project are never passed, whichever connections ask at the same moment", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    for (const [round, length] of [20_000, 300_000].entries()) {
      const name = `heavy-${round}`;
      const project = { "storage.bytes": String(10 * length) };
      await send(PROJECTS, { key: admin, body: { metadata: { name }, spec: { quotas: { project } } } });
      for (const client of clients)
        await expect.poll(async () => (await client(`${PROJECTS}/${name}`, { key: admin })).status, POLL).toBe(200);
      const path = `/api/v1/namespaces/p-${name}/secrets`;
      const stringData = { value: "x".repeat((length * 3) / 4) };
      const answers = await Promise.all(
        clients.flatMap((client) =>
          [0, 1].map(() => client(path, { key: admin, body: { metadata: { generateName: "heavy-" }, stringData } })),
        ),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 507]));
      expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThan(5);
      const { text } = await send(path, { key: admin, body: { metadata: { name: "one-more" }, stringData } });
      const [, used, limit] = /(\d+) bytes of (\d+)/.exec(text) ?? [];
      expect(Number(used), text).toBeLessThanOrEqual(Number(limit));
    }
  });

  it("the quota of a virtual cluster is never passed, whichever connections ask at the same moment", async ({
    skip,
  }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const project = { "virtualcluster.bytes": "4Mi" };
    await send(PROJECTS, { key: admin, body: { metadata: { name: "small" }, spec: { quotas: { project } } } });
    const instances = "/apis/management.postern/v1/namespaces/p-small/virtualclusterinstances";
    const body = { metadata: { name: "full" }, spec: { template: {}, owner: { user: "admin" } } };
    await expect.poll(async () => (await send(instances, { key: admin, body })).status, POLL).toBe(201);
    const path = `/kubernetes/project/small/virtualcluster/full${CONFIG_MAPS}`;
    for (const client of clients)
      await expect.poll(async () => (await client(path, { key: admin })).status, POLL).toBe(200);
    const data = { value: "x".repeat(300_000) };
    const make = (name: object) => ({ key: admin, body: { metadata: name, data } });
    const answers = await Promise.all(
      clients.flatMap((client) => [0, 1, 2].map(() => client(path, make({ generateName: "heavy-" })))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 507]));
    expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThan(8);
    const { text } = await send(path, make({ name: "one-more" }));
    const [, used, limit] = /(\d+) bytes of (\d+)/.exec(text) ?? [];
    expect(Number(used), text).toBeLessThanOrEqual(Number(limit));
  });

  it("a provider that refuses the client does so for all threads, and in its status", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    await using issuer = await serveIssuer();
    provideSignIn(issuer, () => Promise.reject(new Error("refused below")));
    const serve = issuer.intercept;
    issuer.intercept = (asked, response) => {
      if (!asked.url?.startsWith("/token")) return serve?.(asked, response);
      response.writeHead(401, { "content-type": "application/json" }).end('{"error":"invalid_client"}');
    };
    const PROVIDER = "/apis/management.postern/v1/identityproviders";
    const spec = {
      issuer: { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem },
      ...{ clientId: "ours", claimMappings: { username: { claim: "sub" } } },
    };
    const made = await send(PROVIDER, { key: admin, body: { metadata: { name: "refusing" }, spec } });
    expect(made.status, made.text).toBe(201);
    const ready = async () => {
      const { status } = (await send(`${PROVIDER}/refusing`, { key: admin })).body;
      return status?.conditions?.find(({ type }: any) => type === "Ready")?.reason;
    };
    await expect.poll(ready, POLL).toBe("Ready");
    // All servers on etcd have to know the provider first.
    for (const client of clients) expect((await client(`${PROVIDER}/refusing`, { key: admin })).status).toBe(200);
    // One sign-in, of whichever thread the kernel draws.
    const browse = browserOf(server.url, await readFile(server.caFile));
    const left = await browse("/login/start?provider=refusing", (await browse("/login")).cookies);
    const state = new URL(left.location).searchParams.get("state") ?? "";
    await browse(
      `/login/callback/refusing?${new URLSearchParams({ code: "given-once", state, iss: issuer.url })}`,
      left.cookies,
    );
    await expect.poll(ready, POLL).toBe("ClientRefused");
    for (const client of clients) {
      const { body } = await client(`${PROVIDER}/refusing/test`, { key: admin, body: { spec: {} } });
      expect(body.status.checks.find(({ type }: any) => type === "Client").message).toContain("invalid_client");
    }
    await send(`${PROVIDER}/refusing`, { key: admin, method: "DELETE" });
  });

  it("the one-time link is good on every connection, and once", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const [, path = "", code = ""] = /(\/login\/link\?code=(\S+))/.exec(server.output()) ?? [];
    for (const client of clients) expect((await client(path)).status).toBe(200);
    const signIn = (client: HttpClient) =>
      client("/login/link", {
        method: "POST",
        body: `code=${code}`,
        headers: { "content-type": "application/x-www-form-urlencoded", origin: server.url },
      });
    const answers = await Promise.all(clients.map(signIn));
    expect(answers.filter(({ headers }) => headers["set-cookie"] !== undefined)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(clients.length - 1);
    expect((await (clients[1] as HttpClient)(path)).status).toBe(403);
  });

  it("virtual clusters are the same on every connection", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    await createCluster(send, admin, "shared");
    for (const [index, writer] of clients.entries()) {
      const name = `map-${index}`;
      const made = await writer(pathOf("shared", CONFIG_MAPS), { key: admin, body: { metadata: { name } } });
      expect(made.status, made.text).toBe(201);
      const reader = clients[(index + 5) % clients.length] as HttpClient;
      expect((await reader(pathOf("shared", `${CONFIG_MAPS}/${name}`), { key: admin })).status).toBe(200);
    }
  });

  it("a certificate that all threads could sign is one credential, whose last use is known at once", async ({
    skip,
  }) => {
    if (isMissing !== undefined) return skip(isMissing);
    await createCluster(send, admin, "signing");
    // It runs in every thread then.
    await Promise.all(clients.map((client) => client(pathOf("signing", CONFIG_MAPS), { key: admin })));
    await using files = await temporaryDirectory();
    const [keyFile, requestFile] = [join(files.path, "key.pem"), join(files.path, "request.pem")];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    await tool("openssl", ["req", "-new", ...curve, "-keyout", keyFile, "-out", requestFile, "-subj", "/CN=admin"]);
    const path = pathOf("signing", "/apis/certificates.k8s.io/v1/certificatesigningrequests");
    const made = await send(path, {
      key: admin,
      body: {
        metadata: { name: "signed" },
        spec: {
          request: (await readFile(requestFile)).toString("base64"),
          signerName: "kubernetes.io/kube-apiserver-client",
          usages: ["client auth"],
        },
      },
    });
    expect(made.status, made.text).toBe(201);
    const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "" }];
    await send(`${path}/signed/approval`, {
      key: admin,
      method: "PUT",
      body: { ...made.body, status: { conditions } },
    });
    await expect
      .poll(async () => (await send(`${path}/signed`, { key: admin })).body.status.certificate, POLL)
      .toBeTruthy();
    const certificate = (await send(`${path}/signed`, { key: admin })).body.status.certificate;
    const LEDGER = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/signing/credentials";
    const listed = async (client: HttpClient): Promise<any[]> =>
      (await client(LEDGER, { key: admin })).body.status.credentials;
    const { serialNumber } = new X509Certificate(Buffer.from(certificate, "base64"));
    expect((await listed(send)).map(({ id }) => id)).toEqual([`serial:${serialNumber}`]);
    const file = join(files.path, "certificate.pem");
    await writeFile(file, Buffer.from(certificate, "base64"));
    const used = ["--cert", file, "--key", keyFile, "--cacert", server.caFile];
    await tool("curl", ["--silent", ...used, `${server.url}${pathOf("signing", "/version")}`]);
    for (const client of clients) expect((await listed(client))[0]).toMatchObject({ lastActivity: expect.any(String) });
  });

  it("TLS sessions go on at every thread", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const { hostname, port } = new URL(server.url);
    const ca = await readFile(server.caFile);
    const address = { host: hostname, port: Number(port), ca, ALPNProtocols: ["http/1.1"] };
    const session = await new Promise<Buffer>((resolve, reject) => {
      const socket = connect(address).on("error", reject);
      // The session comes behind the handshake.
      socket.resume().once("session", (given) => {
        resolve(given);
        socket.destroy();
      });
    });
    const isResumed = () =>
      new Promise<boolean>((resolve, reject) => {
        const socket = connect({ ...address, session }, () => {
          resolve(socket.isSessionReused());
          socket.destroy();
        });
        socket.on("error", reject);
      });
    for (let count = 0; count < CONNECTIONS; count++) expect(await isResumed()).toBe(true);
  });

  it("a thread that ends is started again, and no count goes back", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const series = 'apiserver_request_total{verb="LIST"';
    const fresh = await openAdmin();
    const before = await metric(fresh, admin, series, '"clustertrustrules"');
    process.kill(server.pid, "SIGUSR2");
    const look = async (name: string) => await metric(await openAdmin(), admin, name).catch(() => 0);
    await expect.poll(() => look("postern_front_restarts_total"), POLL).toBe(1);
    await expect.poll(() => look("postern_fronts"), POLL).toBe(threads);
    expect(await metric(await openAdmin(), admin, series, '"clustertrustrules"')).toBe(before);
    const made = await (await openAdmin())(KEYS, {
      key: admin,
      body: { metadata: { name: "after" }, spec: { type: "User", user: "admin" } },
    });
    expect(made.status, made.text).toBe(201);
    using others = await openConnections(server, CONNECTIONS);
    for (const client of others.clients) expect((await client(PROJECTS, { key: made.body.spec.key })).status).toBe(200);
  });

  it("no other server takes a part of its port, and SIGTERM lets all threads finish", async ({ skip }) => {
    if (isMissing !== undefined) return skip(isMissing);
    const { port } = new URL(server.url);
    const other = start(join(directory.path, "other"), 2, ["--store", "sqlite", "--secure-port", port]);
    await expect(other).rejects.toThrow(/is in use/);
    const watches = await Promise.all(
      Array.from({ length: 6 }, () => openResponse(server, `${PROJECTS}?watch=true`, admin)),
    );
    const ca = await readFile(server.caFile);
    // Requests whose bodies are still on their way when the signal comes.
    const unfinished = Array.from({ length: 6 }, (_, index) => {
      const body = JSON.stringify({ metadata: { name: `late-${index}` }, spec: { type: "User", user: "admin" } });
      const headers = {
        authorization: `Bearer ${admin}`,
        "content-type": "application/json",
        "content-length": body.length,
      };
      const sent = request(`${server.url}${KEYS}`, { ca, agent: false, method: "POST", headers });
      sent.write(body.slice(0, 20));
      const status = new Promise<number>((resolve, reject) => {
        sent.on("error", reject);
        sent.on("response", (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
      });
      return { finish: () => sent.end(body.slice(20)), status };
    });
    await expect.poll(() => metric(send, admin, "apiserver_current_request_bodies"), POLL).toBe(6);
    const stopped = server.stop();
    await Promise.all(watches.map((watch) => watch.ended));
    for (const { finish } of unfinished) finish();
    expect(await Promise.all(unfinished.map(({ status }) => status))).toEqual([201, 201, 201, 201, 201, 201]);
    expect(await stopped).toBe(0);
  });
});

it.skipIf(NODE_WITH_THREADS === undefined)(
  "a database without the files beside it is served as with one thread",
  async () => {
    await using directory = await temporaryDirectory();
    const dataDir = join(directory.path, "data");
    const flags = ["--store", "sqlite"];
    await using earlier = await start(dataDir, 2, flags);
    await earlier.stop();
    for (const name of ["ca.crt", "ca.key", "tls.crt", "tls.key"]) await rm(join(dataDir, name), { force: true });
    await using server = await start(dataDir, 2, flags);
    expect(await server.stop()).toBe(0);
  },
);

it.skipIf(NODE_WITH_THREADS === undefined)("a changed certificate is shown by every thread", async () => {
  await using directory = await temporaryDirectory();
  const pki = await makeCompanyPki(directory.path, "acme");
  const [cert, key] = ["tls.crt", "tls.key"].map((name) => join(directory.path, name)) as [string, string];
  const place = async (name: string): Promise<string> => {
    const pair = await pki.renew(name);
    await copyFile(pair.chain, cert);
    await copyFile(pair.key, key);
    return new X509Certificate(await readFile(pair.chain)).fingerprint256;
  };
  const first = await place("first");
  const flags = ["--store", "sqlite", "--tls-cert-file", cert, "--tls-private-key-file", key];
  await using server = await start(join(directory.path, "data"), 3, flags);
  const { hostname, port } = new URL(server.url);
  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
        resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
        socket.destroy();
      });
      socket.on("error", reject);
    });
  const all = async () => new Set(await Promise.all(Array.from({ length: CONNECTIONS }, shown)));
  expect(await all()).toEqual(new Set([first]));
  const next = await place("next");
  await expect.poll(all, POLL).toEqual(new Set([next]));
});

it.skipIf(Number.parseInt(process.versions.node, 10) >= 23 || NODE !== process.execPath)(
  "an older Node says that it cannot",
  async () => {
    await using directory = await temporaryDirectory();
    const { code, stderr } = await tool(NODE, [ENTRY, "serve", "--data-dir", directory.path, "--threads", "2"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("--threads 2 needs Linux with Node 23.1 or later");
  },
);
