import { expect, it } from "vitest";
import { openThreadChannel } from "../../fronts/thread-channel.ts";
import { ClientRefusals, type RefusalChange } from "./client-refusals.ts";
import type { IdentityProviderState } from "./provider-state.ts";

it("what one thread has seen of a provider, all threads know", async () => {
  const name = `refusals ${process.hrtime.bigint()}`;
  using one = openThreadChannel<RefusalChange>(name);
  using other = openThreadChannel<RefusalChange>(name);
  const [seen, told] = [new ClientRefusals(one), new ClientRefusals(other)];
  const provider = { name: "acme", terms: "settings" } as IdentityProviderState;
  const changed: string[] = [];
  using _ = told.onChange((provider) => changed.push(provider));
  seen.refused(provider, "secret", "it answers invalid_client");
  await expect.poll(() => told.messageOf(provider, "secret")).toBe("it answers invalid_client");
  expect(told.messageOf(provider, "another secret")).toBeUndefined();
  // Others have the same to say of each sign-in.
  told.refused(provider, "secret", "it answers invalid_client");
  told.accepted(provider);
  await expect.poll(() => seen.messageOf(provider, "secret")).toBeUndefined();
  expect(changed).toEqual(["acme", "acme"]);
});
