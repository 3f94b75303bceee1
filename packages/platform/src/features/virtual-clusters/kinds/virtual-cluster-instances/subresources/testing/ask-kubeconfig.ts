// Asks for kubeconfigs as alice, who owns the virtual cluster, and looks at what that leaves in the store.

import type { TestRequest } from "@postern/apiserver/testing/test-context";
import {
  createTenancy,
  GROUP,
  type Tenancy,
  type TenancyOptions,
  userOf,
} from "../../../../../../server/testing/tenancy.ts";

export const URL_OF = (name = "demo") =>
  `/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances/${name}/kubeconfig`;
export const alice = userOf("alice", "engineers", "system:masters", "example:role:cluster-admin");

export type Ask = Omit<TestRequest, "url"> & {
  readonly credentialId?: string;
  readonly name?: string;
  readonly spec?: object;
};

export const ask = (tenancy: Tenancy, { spec, name, ...rest }: Ask = {}) =>
  tenancy.request({
    method: "POST",
    url: URL_OF(name),
    user: alice,
    body: { metadata: {}, ...(spec === undefined ? {} : { spec }) },
    ...rest,
  });

/** Everything the store has, as text. */
export async function dump({ storage }: Tenancy): Promise<string> {
  const { entries } = await storage.list("/");
  return entries.map(({ key, value }) => `${key}\n${Buffer.from(value).toString("latin1")}`).join("\n");
}
export const countOf = async ({ storage }: Tenancy): Promise<number> => (await storage.list("/")).entries.length;

export const withTenancy = async (
  options: TenancyOptions,
  test: (tenancy: Tenancy) => Promise<void>,
): Promise<void> => {
  await using tenancy = await createTenancy(options);
  await test(tenancy);
};
