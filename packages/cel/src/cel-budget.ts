// Cost limits of evaluations. Rules and objects may be those of two tenants, and neither may keep the others waiting.
// Source: k8s.io/apiserver/pkg/apis/cel/config.go, github.com/google/cel-go/interpreter/runtimecost.go

/** A single rule costs more than one may. */
export class CelLimitError extends Error {
  override readonly name = "CelLimitError";
}

/** The meter of one evaluation, in the units of upstream: about one for each visited value. */
export type CelMeter = {
  readonly spent: number;
  /** Throws CelLimitError above the limit. */
  readonly spend: (cost: number) => void;
};

export function createCelMeter(limit: number): CelMeter {
  let spent = 0;
  return {
    get spent() {
      return spent;
    },
    spend(cost) {
      spent += cost;
      if (spent > limit) throw new CelLimitError("operation cancelled: actual cost limit exceeded");
    },
  };
}
