// A key is stolen: what its thief made with it ends when its owner acts, and nothing brings it back.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { postern } from "../e2e/testing/postern-process.ts";
import { type Attack, type Loot, prepareAttack } from "./testing/thief.ts";

let server: OwnServer;
let attack: Attack;
let name: string;
let stolen: string;

beforeAll(async () => {
  server = await startOwnServer(["--failed-logins-per-minute", "0"]);
  attack = await prepareAttack(server);
});
afterAll(() => server?.[Symbol.asyncDispose]());
beforeEach(async () => {
  name = `victim-${attack.unique()}`;
  stolen = await attack.newKey(name);
});

const compromise = async () => {
  const { status, body } = await attack.rotate(name, { compromised: true });
  expect(status).toBe(201);
  return body.status;
};
const disabledByReport = () => expect.poll(async () => (await attack.get(name)).spec.disabled).toBe(true);
const isGood = (token: string) => attack.works(token);

describe("a stolen value", () => {
  it("leaves the thief nothing after a rotation that says compromised, two generations deep (security book 2, 13)", async () => {
    const loot = await attack.steal(stolen);
    expect(await attack.working(loot)).toHaveLength(loot.length);
    expect(loot.length).toBeGreaterThanOrEqual(12);
    const { key, revokedCredentials } = await compromise();
    expect(revokedCredentials).toBe(loot.length);
    expect(await attack.working(loot)).toEqual([]);
    expect(await isGood(key)).toBe(true);
    expect(await isGood(stolen)).toBe(false);
  });

  it("leaves the thief nothing after a leak report, a plain rotation and enabling (security book 13)", async () => {
    const loot = await attack.steal(stolen);
    await attack.report(`found: ${stolen}`);
    await disabledByReport();
    const { body } = await attack.rotate(name);
    expect(body.status.revokedCredentials).toBe(loot.length);
    expect((await attack.patch(name, { spec: { disabled: false } })).status).toBe(200);
    expect(await isGood(body.status.key)).toBe(true);
    expect(await attack.working(loot)).toEqual([]);
  });

  it("is not valid again when the key is enabled without a rotation", async () => {
    await attack.report(stolen);
    await disabledByReport();
    await attack.patch(name, { spec: { disabled: false } });
    expect(await isGood(stolen)).toBe(false);
  });

  it("keeps credentials created with it in a normal rotation", async () => {
    const loot = await attack.steal(stolen, "", 1);
    const { body } = await attack.rotate(name);
    expect(body.status.revokedCredentials).toBeUndefined();
    expect(await attack.working(loot)).toHaveLength(loot.length);
    // A child of the new value outlives a later report of the old one; those of the old one do not.
    const own = await attack.steal(body.status.key, "own ", 1);
    await attack.report(stolen);
    await expect.poll(() => attack.working(loot)).toEqual([]);
    expect(await attack.working(own)).toHaveLength(own.length);
  });

  it("loses what was made through a key that the thief deleted since (security book 11)", async () => {
    const middle = attack.unique();
    const inner = await attack.newKey(middle, {}, stolen);
    const loot = await attack.steal(inner, "", 1);
    await attack.http(`/apis/management.postern/v1/ownedaccesskeys/${middle}`, { key: stolen, method: "DELETE" });
    await compromise();
    expect(await attack.working(loot)).toEqual([]);
  });

  it("loses the values that the thief gave to other keys of the owner, until those are rotated", async () => {
    const [sibling, other] = [attack.unique(), attack.unique()];
    await attack.newKey(sibling);
    await attack.newKey(other);
    const taken = (await attack.rotate(sibling, {}, stolen)).body.status.key;
    const chosen = "Wm7-quokka+91/pLum_tartan.Zv3!eK";
    expect((await attack.patch(other, { spec: { key: chosen } }, stolen)).status).toBe(200);
    expect([await isGood(taken), await isGood(chosen)]).toEqual([true, true]);
    await compromise();
    expect([await isGood(taken), await isGood(chosen)]).toEqual([false, false]);
    const { body } = await attack.rotate(sibling);
    expect(await isGood(body.status.key)).toBe(true);
  });

  it("gives no access to what is created during the rotation", async () => {
    for (let round = 0; round < 4; round++) {
      const value = round === 0 ? stolen : (await attack.rotate(name)).body.status.key;
      const made: Promise<readonly Loot[]>[] = [];
      const rush = () => made.push(attack.steal(value, "", 1));
      for (let at = 0; at < 8; at++) rush();
      const rotated = compromise();
      for (let at = 0; at < 8; at++) rush();
      await rotated;
      const loot = (await Promise.all(made)).flat();
      expect(await attack.working(loot)).toEqual([]);
    }
  });

  it.each(["enable", "rotate again", "write a value", "lengthen"])(
    "stays without its children, whatever is done to them: %s",
    async (how) => {
      const child = attack.unique();
      const value = await attack.newKey(child, {}, stolen);
      await compromise();
      if (how === "enable") {
        await attack.patch(child, { spec: { disabled: true } });
        await attack.patch(child, { spec: { disabled: false } });
      }
      const again = how === "rotate again" ? (await attack.rotate(child)).body.status?.key : undefined;
      const chosen = "Another-value.of+the/thief_7741!qZ";
      if (how === "write a value") await attack.patch(child, { spec: { key: chosen } });
      if (how === "lengthen") await attack.patch(child, { spec: { ttl: 0 } });
      for (const one of [value, again, chosen]) if (one !== undefined) expect(await isGood(one)).toBe(false);
    },
  );
});

describe("postern key compromised, as its owner runs it", () => {
  const run = async (...flags: readonly string[]) => {
    const args = ["key", "compromised", name, "--kubeconfig", server.adminKubeconfig, ...flags];
    const { code, stdout, stderr } = await postern(...args);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`access key ${name} has a new value`)]);
    return { key: stdout.trim(), stderr };
  };

  it("leaves the thief nothing although the value was not reported, and the owner the new value (security book 13)", async () => {
    const loot = await attack.steal(stolen);
    const { key, stderr } = await run();
    expect(stderr).toContain(`created with the old value and revoked: ${loot.length}\n`);
    expect(await attack.working(loot)).toEqual([]);
    // The thief goes on trying, and locks out no one by it.
    for (let at = 0; at < 3; at++) expect(await isGood(stolen)).toBe(false);
    expect(await isGood(key)).toBe(true);
  });

  it("makes a key work again that a report has disabled, unless it is to stay disabled", async () => {
    for (const flags of [["--keep-disabled"], []]) {
      await attack.report(stolen);
      await disabledByReport();
      const { key } = await run(...flags);
      expect([await isGood(stolen), await isGood(key)]).toEqual([false, flags.length === 0]);
      stolen = key;
    }
  });

  it("enables no key that its owner has disabled", async () => {
    await attack.patch(name, { spec: { disabled: true } });
    const { key, stderr } = await run();
    expect([await isGood(key), stderr]).toEqual([false, expect.stringContaining("is disabled: postern key enable")]);
  });
});

describe("values from before a rotation", () => {
  const reuse = async (...values: readonly string[]) => {
    for (const value of values) expect(await isGood(value)).toBe(false);
  };

  it("lock the key where nothing is known to have leaked, and lock it no more once it was rotated for that", async () => {
    const second = (await attack.rotate(name)).body.status.key;
    await reuse(stolen);
    expect(await isGood(second)).toBe(false);
    const third = (await attack.rotate(name)).body.status.key;
    await reuse(stolen, second, stolen);
    expect(await isGood(third)).toBe(true);
  });

  it("lock nothing after a rotation that says compromised (security book 26)", async () => {
    const values = [stolen];
    for (let at = 0; at < 3; at++) values.push((await attack.rotate(name)).body.status.key);
    const { key } = await compromise();
    await reuse(...values, ...values);
    expect(await isGood(key)).toBe(true);
  });

  it("lock nothing after a leak report and a rotation, and are counted (security book 26)", async () => {
    const usesOf = async (): Promise<number> => {
      const { text } = await attack.http("/metrics", { key: attack.admin });
      return Number(/^postern_retired_access_key_uses_total (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
    };
    await attack.report(stolen);
    await disabledByReport();
    const { key } = (await attack.rotate(name)).body.status;
    await attack.patch(name, { spec: { disabled: false } });
    const before = await usesOf();
    await reuse(stolen, stolen, stolen);
    expect(await usesOf()).toBe(before + 3);
    expect(await isGood(key)).toBe(true);
  });

  it("do not disable the key that has another value by now when they are reported, once or often", async () => {
    const { key } = (await attack.rotate(name)).body.status;
    for (let at = 0; at < 3; at++) await attack.report(stolen);
    // A report of another key that is dealt with after these.
    const witness = attack.unique();
    await attack.report(await attack.newKey(witness));
    await expect.poll(async () => (await attack.get(witness)).spec.disabled).toBe(true);
    expect(await isGood(key)).toBe(true);
    expect((await attack.get(name)).spec.disabled).toBeUndefined();
    await reuse(stolen);
    expect(await isGood(key)).toBe(true);
  });

  it("end at once, in the middle of their grace, when they are reported", async () => {
    const { key } = (await attack.rotate(name, { gracePeriodSeconds: 3600 })).body.status;
    expect(await isGood(stolen)).toBe(true);
    await attack.report(stolen);
    await expect.poll(() => isGood(stolen)).toBe(false);
    expect(await isGood(key)).toBe(true);
  });

  it("have no grace in a rotation that says compromised", async () => {
    const { status, text } = await attack.rotate(name, { compromised: true, gracePeriodSeconds: 60 });
    expect(status).toBe(422);
    expect(text).toContain("spec.gracePeriodSeconds");
  });
});
