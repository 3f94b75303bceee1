// `postern doctor` over an etcd in which one thing at a time is really broken.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { whyNoFakeTime } from "../crash/testing/fake-time.ts";
import { ahead, doctor } from "./testing/doctor.ts";
import { ENTRY, NODE, startPostern, startTool, succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
const file = (name: string): string => join(directory.path, name);

beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => directory?.[Symbol.asyncDispose]());

describe.skipIf(whyNoEtcd() !== undefined)("etcd", () => {
  const storeOf = (endpoints: readonly string[]) => ["--store", `etcd://${endpoints.join(",")}`];

  it("of which members have died, then the majority", async () => {
    await using etcd = await startEtcd({ size: 3 });
    const flags = storeOf(etcd.endpoints);
    const dataDir = file("three");
    {
      await using server = await startPostern(dataDir, flags);
      await server.stop();
    }
    const sound = await doctor(dataDir, flags);
    expect(sound.errors).toEqual([]);
    expect(sound.of("etcd").map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    expect(sound.of("clock").length).toBe(3);
    expect(sound.of("key ring")[0]).toMatchObject({ status: "ok" });
    expect(sound.of("other etcd users")[0]).toMatchObject({
      status: "ok",
      message: "no other program has keys in this etcd",
    });
    if (whyNoFakeTime() === undefined) {
      const behind = await doctor(dataDir, flags, await ahead(file("time"), -90));
      expect(behind.of("clock")[0]).toMatchObject({
        status: "error",
        message: expect.stringMatching(
          /^the clock of etcd at \S+ is (89|9[0-2]) seconds ahead of that of this machine$/,
        ),
      });
    }
    await etcd.members[0]?.kill();
    const one = await doctor(dataDir, flags);
    expect(one.errors).toEqual([]);
    expect(
      one
        .of("etcd")
        .map(({ status }) => status)
        .sort(),
    ).toEqual(["ok", "ok", "warning"]);
    await etcd.members[1]?.kill();
    const two = await doctor(dataDir, flags);
    expect(two.errors.map(({ check }) => check)).toContain("etcd");
    expect(two.of("etcd").filter(({ status }) => status === "error").length).toBeGreaterThanOrEqual(2);

    // A server that is started now waits for the majority.
    const args = ["serve", "--data-dir", dataDir, "--secure-port", "0", ...flags];
    using server = startTool(NODE, [ENTRY, ...args]);
    await expect.poll(server.output).toContain("as before a leader is elected: trying again for 60 s");
    await etcd.members[0]?.restart();
    await expect.poll(server.output).toContain("Postern is ready at");
    expect(server.output().match(/trying again/g)).toHaveLength(1);
  });

  it("that is full, that others use, or where nothing is", async () => {
    await using etcd = await startEtcd({ flags: ["--quota-backend-bytes", String(1 << 20)] });
    const [endpoint = ""] = etcd.endpoints;
    const empty = await doctor(file("nothing"), storeOf([endpoint]));
    expect(empty.of("etcd").at(-1)).toMatchObject({
      status: "warning",
      message: expect.stringContaining("there are no keys below /postern"),
    });
    {
      await using other = await openEtcdStorage({ endpoints: [endpoint], prefix: "/others" });
      for (let count = 0; ; count++) {
        const full = await other.create(`/registry/${count}`, Buffer.alloc(100 << 10)).then(
          () => false,
          () => true,
        );
        if (full) break;
      }
    }
    const full = await doctor(file("nothing"), storeOf([endpoint]));
    expect(full.errors.map(({ message }) => message)).toEqual(
      expect.arrayContaining([expect.stringContaining("the alarm NOSPACE")]),
    );
    expect(full.of("other etcd users")[0]?.message).toContain("/others");
    const always = await doctor(file("nothing"), [...storeOf([endpoint]), "--etcd-compaction", "always"]);
    expect(always.of("other etcd users")[0]).toMatchObject({ status: "warning" });
  });

  describe("with TLS", () => {
    const files = (ca: string, client?: string): readonly string[] => [
      ...["--etcd-cafile", file(`${ca}.crt`)],
      ...(client === undefined
        ? []
        : ["--etcd-certfile", file(`${client}.crt`), "--etcd-keyfile", file(`${client}.key`)]),
    ];
    const startWith = (name: string) =>
      startEtcd({
        scheme: "https",
        flags: [
          ...["--cert-file", file(`${name}.crt`), "--key-file", file(`${name}.key`)],
          ...["--trusted-ca-file", file("ca.crt"), "--client-cert-auth"],
        ],
      });

    beforeAll(async () => {
      await succeed(tool("bash", ["-euc", `cd ${directory.path}\n${MAKE_CERTIFICATES}`]));
    });

    it("says what is wrong with certificates, and what to do, which helps", async () => {
      await using etcd = await startWith("server");
      const store = storeOf(etcd.endpoints);
      const sound = [...store, ...files("ca", "client")];
      {
        await using server = await startPostern(file("tls"), sound);
        await server.stop();
      }
      const mismatched = ["--etcd-certfile", file("client.crt"), "--etcd-keyfile", file("server.key")];
      for (const [broken, message, remedy] of [
        [
          files("other", "client"),
          /not signed by the CA in --etcd-cafile$/,
          /^set --etcd-cafile to the CA that signed/,
        ],
        [[], /closes connections without TLS$/, /^set --etcd-cafile to the CA that signed/],
        [files("ca"), /requires a client certificate$/, /^set --etcd-certfile and --etcd-keyfile/],
        [files("ca", "stranger"), /refuses the client certificate$/, /^set --etcd-certfile and --etcd-keyfile/],
        [[...files("ca"), ...mismatched], /cannot be used$/, /PEM file, and the key that of the certificate/],
      ] as const) {
        const { of } = await doctor(file("tls"), [...store, ...broken]);
        expect(of("etcd")).toEqual([
          {
            check: "etcd",
            status: "error",
            message: expect.stringMatching(message),
            remedy: expect.stringMatching(remedy),
          },
        ]);
      }
      // All of that advice comes to the same.
      const { errors, of } = await doctor(file("tls"), sound);
      expect(errors).toEqual([]);
      expect(of("etcd certificate")[0]).toMatchObject({
        status: "warning",
        message: expect.stringContaining("expires in"),
      });
      if (whyNoFakeTime() !== undefined) return;
      const late = await doctor(file("tls"), sound, await ahead(file("late"), 20 * 86_400));
      expect(late.of("etcd")[0]?.message).toMatch(/its certificate, or the CA that signed it, has expired$/);
      expect(late.of("etcd certificate")[0]?.message).toMatch(/client\.crt has expired on/);
      const early = await doctor(file("tls"), sound, await ahead(file("early"), -20 * 86_400));
      expect(early.of("etcd")[0]?.message).toMatch(/its certificate is not valid yet$/);
    });

    it("knows a certificate for another name, an etcd without TLS, and one that is not there", async () => {
      const messageOf = async (endpoints: readonly string[]) =>
        (await doctor(file("tls-other"), [...storeOf(endpoints), ...files("ca", "client")])).of("etcd")[0]?.message;
      await using named = await startWith("named");
      expect(await messageOf(named.endpoints)).toMatch(/its certificate is for other names$/);
      await using plain = await startEtcd();
      expect(await messageOf(plain.endpoints)).toMatch(/it does not use TLS$/);
      await plain.members[0]?.kill();
      expect(await messageOf(plain.endpoints)).toMatch(/nothing listens there$/);
      expect(await messageOf(["etcd.invalid:2379"])).toMatch(/its name cannot be resolved$/);
    });
  });

  it.skipIf(spawnSync("etcdctl", ["version"]).status !== 0)(
    "that is full of history: the advice brings it back",
    async () => {
      await using etcd = await startEtcd({ flags: ["--quota-backend-bytes", String(2 << 20)] });
      const [endpoint = ""] = etcd.endpoints;
      {
        await using server = await startPostern(file("history"), storeOf([endpoint]));
        await server.stop();
      }
      const etcdctl = (...args: readonly string[]) =>
        tool("env", ["ETCDCTL_API=3", "etcdctl", "--endpoints", endpoint, ...args]);
      const value = "x".repeat(100 << 10);
      for (let count = 0; (await etcdctl("put", "/postern/history", value)).code === 0; count++)
        expect(count).toBeLessThan(100);
      const full = await doctor(file("history"), storeOf([endpoint]));
      const alarm = full.errors.find(({ message }) => message.includes("NOSPACE"));
      expect(alarm?.remedy).toMatch(/^compact and defragment etcd.*etcdctl alarm disarm/);
      const status = JSON.parse(await succeed(etcdctl("endpoint", "status", "--write-out", "json")));
      await succeed(etcdctl("compaction", String(status[0].Status.header.revision)));
      await succeed(etcdctl("defrag"));
      await succeed(etcdctl("alarm", "disarm"));
      expect((await doctor(file("history"), storeOf([endpoint]))).errors).toEqual([]);
      await using server = await startPostern(file("history"), storeOf([endpoint]));
      await server.stop();
    },
  );
});

/** A CA, a stranger, and certificates of the first: of the server, for another name, and of clients. */
const MAKE_CERTIFICATES = `
for ca in ca other; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=$ca -keyout $ca.key -out $ca.crt \\
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
done
sign() { # name, CA, subjectAltName
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$1 -keyout $1.key -out $1.csr
  printf "subjectAltName=$3\\nextendedKeyUsage=serverAuth,clientAuth\\n" > $1.ext
  openssl x509 -req -in $1.csr -CA $2.crt -CAkey $2.key -days 10 -extfile $1.ext -out $1.crt
}
sign server ca IP:127.0.0.1
sign named ca DNS:etcd-0.etcd
sign client ca DNS:client
sign stranger other DNS:client
`;
