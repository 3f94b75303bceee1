// `postern doctor` over an etcd in which one thing at a time is really broken.

import { join } from "node:path";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { whyNoFakeTime } from "../crash/testing/fake-time.ts";
import { ahead, doctor } from "./testing/doctor.ts";
import { startPostern, temporaryDirectory } from "./testing/postern-process.ts";

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
    expect(sound.of("etcd neighbours")[0]).toMatchObject({
      status: "ok",
      message: "nobody else has keys in this etcd",
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
  });

  it("that is full, that others use, or where nothing is", async () => {
    await using etcd = await startEtcd({ flags: ["--quota-backend-bytes", String(1 << 20)] });
    const [endpoint = ""] = etcd.endpoints;
    const empty = await doctor(file("nothing"), storeOf([endpoint]));
    expect(empty.of("etcd").at(-1)).toMatchObject({
      status: "warning",
      message: expect.stringContaining("nothing lies below /postern"),
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
    expect(full.of("etcd neighbours")[0]?.message).toContain("/others");
    const always = await doctor(file("nothing"), [...storeOf([endpoint]), "--etcd-compaction", "always"]);
    expect(always.of("etcd neighbours")[0]).toMatchObject({ status: "warning" });
  });
});
