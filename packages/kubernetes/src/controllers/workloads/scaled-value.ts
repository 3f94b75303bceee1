// Numbers of pods that may be given as a percentage.
// Source: k8s.io/apimachinery/pkg/util/intstr/intstr.go (GetScaledValueFromIntOrPercent)

/** A percentage such as `25%` counts of `total`. Validated before. */
export const scaledValue = (
  value: number | string,
  total: number,
  round: (amount: number) => number = Math.ceil,
): number => (typeof value === "string" ? round((Number.parseInt(value, 10) * total) / 100) : value);
