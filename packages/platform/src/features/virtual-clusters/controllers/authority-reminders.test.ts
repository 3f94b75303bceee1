import type { ObjectEvent } from "@postern/apiserver/controllers/event-recorder";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { expect, it } from "vitest";
import { createCertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";
import type { AuthorityRecord } from "../../certificate-authorities/authority-record.ts";
import { createAuthorityReminders } from "./authority-reminders.ts";

const DAY_MS = 86_400_000;

const recordFor = (days: number): AuthorityRecord => {
  const { certificatePem, privateKeyPem } = createCertificateAuthority({
    ...systemRuntime,
    commonName: `ends-in-${days}`,
    lifetimeMs: days * DAY_MS,
  });
  return { current: { certificate: certificatePem, privateKey: privateKeyPem }, generation: 1 };
};

it("reminds of CAs that end within 90 days, each day, and shows the first end", async () => {
  const records = new Map([
    ["soon", recordFor(30)],
    ["later", recordFor(400)],
  ]);
  const instances = ["soon", "later", "elsewhere"].map((uid) => ({
    decode: () => ({ metadata: { name: `name-of-${uid}`, namespace: "p-default", uid } }),
  }));
  const planned: (() => void)[] = [];
  const scheduler = {
    schedule(_delayMs: number, task: () => void) {
      planned.push(task);
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const events: ObjectEvent[] = [];
  const errors: unknown[] = [];
  const ends: { clusters: number | undefined } = { clusters: undefined };
  // Nothing but its list is read.
  const resource = { view: { list: () => instances }, keys: { prefix: "" } } as unknown as InstalledResource;
  using reminders = createAuthorityReminders(
    { runtime: { ...systemRuntime, scheduler }, onError: (error) => errors.push(error) },
    {
      names: { managementGroup: "management.example" } as never,
      own: () => resource,
      recordEvent: (event) => events.push(event),
    },
    { embedded: { authorityOf: async (uid) => records.get(uid) }, ends },
  );
  planned.shift()?.();
  await reminders.idle();
  expect(errors).toEqual([]);
  expect(events.map(({ reason, involvedObject: { name }, message }) => [reason, name, message])).toEqual([
    ["CertificateAuthorityExpires", "name-of-soon", expect.stringMatching(/^the CA ends-in-30 expires at 20/)],
  ]);
  expect(Math.round(((ends.clusters ?? 0) - Date.now()) / DAY_MS)).toBe(30);
  // A prepared CA signs already: it is the one that counts.
  records.set("soon", { ...recordFor(30), next: { ...recordFor(400).current, preparedAt: 0 } });
  planned.shift()?.();
  await reminders.idle();
  expect(events).toHaveLength(1);
  expect(Math.round(((ends.clusters ?? 0) - Date.now()) / DAY_MS)).toBe(400);
});
