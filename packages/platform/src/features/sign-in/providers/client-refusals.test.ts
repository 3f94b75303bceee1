import { expect, it } from "vitest";
import { openThreadChannel } from "../../../fronts/thread-channel.ts";
import { ClientRefusals, type RefusalChange } from "./client-refusals.ts";
import type { IdentityProviderState } from "./provider-state.ts";

it("all threads know that a provider refuses the client, and that it accepts it again", async () => {
  const name = `refusals ${process.hrtime.bigint()}`;
  using one = openThreadChannel<RefusalChange>(name);
  using other = openThreadChannel<RefusalChange>(name);
  const [seen, informed] = [new ClientRefusals(one), new ClientRefusals(other)];
  const provider = { name: "acme", terms: "settings" } as IdentityProviderState;
  const changed: string[] = [];
  using _ = informed.onChange((provider) => changed.push(provider));
  seen.refused(provider, "secret", "it answers invalid_client");
  await expect.poll(() => informed.messageOf(provider, "secret")).toBe("it answers invalid_client");
  expect(informed.messageOf(provider, "another secret")).toBeUndefined();
  // Others have the same to say of each sign-in.
  informed.refused(provider, "secret", "it answers invalid_client");
  informed.accepted(provider);
  await expect.poll(() => seen.messageOf(provider, "secret")).toBeUndefined();
  expect(changed).toEqual(["acme", "acme"]);
});

it("a thread that started after a refusal lets the others know that the provider accepts the client", async () => {
  const name = `refusals ${process.hrtime.bigint()}`;
  using earlier = openThreadChannel<RefusalChange>(name);
  const seen = new ClientRefusals(earlier);
  const provider = { name: "acme", terms: "settings" } as IdentityProviderState;
  seen.refused(provider, "secret", "it answers invalid_client");
  using later = openThreadChannel<RefusalChange>(name);
  new ClientRefusals(later).accepted(provider);
  await expect.poll(() => seen.messageOf(provider, "secret")).toBeUndefined();
});
