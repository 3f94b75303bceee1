// Long work that continues for its cluster after it has waited.

import { type LongWork, WorkParts } from "@postern/apiserver/limits/long-work";
import type { WorkMark } from "../messages/link.ts";

export class MarkedWork extends WorkParts {
  readonly #mark: WorkMark;

  constructor(work: LongWork, mark: WorkMark) {
    super(work);
    this.#mark = mark;
  }

  override pause(client: string): Promise<void> | undefined {
    const waiting = super.pause(client);
    return waiting && this.#marked(waiting);
  }

  override nextTurn(client: string): Promise<void> {
    return this.#marked(super.nextTurn(client));
  }

  override runInThread(...work: Parameters<WorkParts["runInThread"]>): ReturnType<WorkParts["runInThread"]> {
    const done = super.runInThread(...work);
    return done && this.#marked(done);
  }

  #marked<T>(waiting: Promise<T>): Promise<T> {
    const mark = this.#mark.save();
    const restore = (): void => this.#mark.restore(mark);
    return waiting.finally(restore);
  }
}
