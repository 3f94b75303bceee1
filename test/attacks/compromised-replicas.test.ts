// A key is compromised on one of two servers of one etcd: what the thief made on both ends on both, and old values lock nothing on either.

import { FRESHNESS_BOUND_MS } from "@postern/apiserver/cache/freshness";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type PosternProcess, startPostern } from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { type Attack, type Loot, prepareAttack } from "./testing/thief.ts";

const INSIDE = "/kubernetes/project/default/virtualcluster/demo";
/** The other server shows a change late, within the bound that it keeps; a busy machine may answer much later. */
const WAIT = { timeout: 20 * FRESHNESS_BOUND_MS, interval: 50 };

describe.skipIf(whyNoEtcd() !== undefined)("two servers on one etcd (security book 2, 13)", () => {
  let two: TwoOnEtcd<PosternProcess>;
  let near: Attack;
  let far: Attack;
  let name: string;
  let stolen: string;

  beforeAll(async () => {
    two = await startTwoOnEtcd(startPostern, ["--failed-logins-per-minute", "0"]);
    const [one, other] = two.servers;
    near = await prepareAttack(one);
    far = await prepareAttack(other);
  });
  afterAll(() => two?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    name = `shared-${near.unique()}`;
    stolen = await near.newKey(name);
    await expect.poll(() => far.works(stolen), WAIT).toBe(true);
  });

  const tokenInside = async (attack: Attack, key: string, what: string): Promise<Loot> => {
    const path = `${INSIDE}/api/v1/namespaces/default/serviceaccounts/default/token`;
    const { status, body, text } = await attack.http(path, { key, body: { spec: {} } });
    expect(status, text).toBe(201);
    return { what, token: body.status.token };
  };
  /** A ServiceAccount without rights is let in, and refused what it asks for. */
  const opensInside = async (attack: Attack, { token }: Loot) =>
    (await attack.http(`${INSIDE}/api/v1/namespaces`, { key: token })).status === 403;
  const compromiseAt = async (attack: Attack) => {
    const { status, body, text } = await attack.rotate(name, { compromised: true });
    expect(status, text).toBe(201);
    return body.status.key;
  };

  it("end on both what was made on either, the tokens of a cluster too, and leave nothing to a request that comes later", async () => {
    const tokens = [await tokenInside(near, stolen, "near"), await tokenInside(far, stolen, "far")];
    const loot = [...(await near.steal(stolen, "near ", 1)), ...(await far.steal(stolen, "far ", 1))];
    expect(loot.length).toBeGreaterThanOrEqual(8);
    for (const attack of [near, far]) {
      await expect.poll(() => attack.working(loot), WAIT).toHaveLength(loot.length);
      for (const token of tokens) await expect.poll(() => opensInside(attack, token), WAIT).toBe(true);
    }
    const value = await compromiseAt(near);
    // The server that answered accepts nothing after its answer.
    expect(await near.working(loot)).toEqual([]);
    expect(await Promise.all(tokens.map((token) => opensInside(near, token)))).toEqual([false, false]);
    await expect.poll(() => far.working(loot), WAIT).toEqual([]);
    await expect.poll(() => Promise.all(tokens.map((token) => opensInside(far, token))), WAIT).toEqual([false, false]);
    await expect.poll(() => far.works(value), WAIT).toBe(true);
    expect(await far.steal(stolen, "late ", 1)).toEqual([]);
    expect(await near.steal(stolen, "late ", 1)).toEqual([]);
  });

  it("refuse every old value on both, and lock nothing, whichever server it comes to", async () => {
    const second = (await near.rotate(name)).body.status.key;
    const current = await compromiseAt(far);
    await expect.poll(() => near.works(current), WAIT).toBe(true);
    for (const attack of [near, far, near]) {
      for (const old of [stolen, second]) expect(await attack.works(old)).toBe(false);
      await attack.report(`found ${stolen}`);
    }
    for (const attack of [near, far]) expect(await attack.works(current)).toBe(true);
    expect((await near.get(name)).spec.disabled ?? false).toBe(false);
  });

  it("give a key that is compromised on both at the same moment one value", async () => {
    const answers = await Promise.all([near, far].map((attack) => attack.rotate(name, { compromised: true })));
    const values = answers.filter(({ status }) => status === 201).map(({ body }) => body.status.key);
    expect(values.length).toBeGreaterThanOrEqual(1);
    for (const attack of [near, far]) {
      const working = async () =>
        (await Promise.all(values.map((value) => attack.works(value)))).filter((works) => works).length;
      await expect.poll(working, WAIT).toBe(1);
      await expect.poll(() => attack.works(stolen), WAIT).toBe(false);
    }
  });
});
