// Providers that refuse this server as their client, each until its settings change or it accepts the client again.

import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { IdentityProviderState } from "./provider-state.ts";

type Refusal = { readonly terms: string; readonly secret: string; readonly message: string };

export class ClientRefusals {
  readonly #byProvider = new Map<string, Refusal>();
  readonly #listeners = new ChangeListeners<[string]>();

  accepted({ name }: IdentityProviderState): void {
    if (this.#byProvider.delete(name)) this.#listeners.call(name);
  }

  /** `secret` is the one that the client authenticated with. */
  refused({ name, terms }: IdentityProviderState, secret: string, message: string): void {
    const before = this.#byProvider.get(name)?.message;
    this.#byProvider.set(name, { terms, secret, message });
    if (before !== message) this.#listeners.call(name);
  }

  /** The message of a refusal of these settings, with this secret. */
  messageOf({ name, terms }: IdentityProviderState, secret: string): string | undefined {
    const known = this.#byProvider.get(name);
    return known?.terms === terms && known.secret === secret ? known.message : undefined;
  }

  /** Calls back with the name of a provider that begins or ceases to refuse the client. */
  onChange(listener: (provider: string) => void): Disposable {
    return this.#listeners.add(listener);
  }
}
