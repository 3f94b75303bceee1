// Providers that refuse this server as their client, each until its settings change or it accepts the client again.

import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { IdentityProviderState } from "./provider-state.ts";

type Refusal = { readonly terms: string; readonly secret: string; readonly message: string };

/** A provider as a thread has seen it; without a refusal, it accepts the client again. */
export type RefusalChange = { readonly name: string; readonly refusal: Refusal | undefined };

/** Between the threads of a server. */
export type RefusalChannel = {
  send(change: RefusalChange): void;
  onReceive(listener: (change: RefusalChange) => void): void;
};

export class ClientRefusals {
  readonly #byProvider = new Map<string, Refusal>();
  readonly #listeners = new ChangeListeners<[string]>();
  readonly #channel: RefusalChannel | undefined;

  /** Without a channel, this thread is the only one. */
  constructor(channel?: RefusalChannel) {
    this.#channel = channel;
    channel?.onReceive((change) => this.#change(change));
  }

  accepted({ name }: IdentityProviderState): void {
    // Also where this thread knows of no refusal: it may have started after one.
    this.#publish({ name, refusal: undefined });
  }

  /** `secret` is the one that the client authenticated with. */
  refused({ name, terms }: IdentityProviderState, secret: string, message: string): void {
    this.#publish({ name, refusal: { terms, secret, message } });
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

  #publish(change: RefusalChange): void {
    this.#change(change);
    this.#channel?.send(change);
  }

  #change({ name, refusal }: RefusalChange): void {
    const before = this.#byProvider.get(name)?.message;
    if (refusal === undefined) this.#byProvider.delete(name);
    else this.#byProvider.set(name, refusal);
    if (before !== refusal?.message) this.#listeners.call(name);
  }
}
