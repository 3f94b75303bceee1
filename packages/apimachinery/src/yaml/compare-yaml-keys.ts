// The order in which Go's YAML encoder prints keys: numbers within names by value, letters behind other characters.
// Source: sigs.k8s.io/yaml/goyaml.v2/sorter.go

const isDigit = (char: string | undefined): boolean => char !== undefined && /^\p{Nd}$/u.test(char);
const isLetter = (char: string): boolean => /^\p{L}$/u.test(char);

/** Negative when `a` comes first. `a2` comes before `a10`, `a-b` before `ab`. */
export function compareYamlKeys(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  const common = commonPrefixLength(left, right);
  const leftChar = left[common];
  const rightChar = right[common];
  if (leftChar === undefined || rightChar === undefined) return left.length - right.length;
  const leftIsLetter = isLetter(leftChar);
  const rightIsLetter = isLetter(rightChar);
  if (leftIsLetter && rightIsLetter) return compareCodePoints(leftChar, rightChar);
  if (leftIsLetter || rightIsLetter) {
    // After a digit, letters sort first: a shorter number comes before a longer one.
    return leftIsLetter === isDigit(left[common - 1]) ? -1 : 1;
  }
  const leftNumber = digitsFrom(left, common);
  const rightNumber = digitsFrom(right, common);
  if (leftNumber !== "" || rightNumber !== "") {
    const order = compareNumbers(numberBefore(left, common) + leftNumber, numberBefore(right, common) + rightNumber);
    if (order !== 0) return order;
    if (leftNumber.length !== rightNumber.length) return leftNumber.length - rightNumber.length;
  }
  return compareCodePoints(leftChar, rightChar);
}

function commonPrefixLength(a: readonly string[], b: readonly string[]): number {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return i;
}

const compareCodePoints = (a: string, b: string): number => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);

function digitsFrom(chars: readonly string[], start: number): string {
  let end = start;
  while (isDigit(chars[end])) end++;
  return chars.slice(start, end).join("");
}

/** The digits that end just before `end`, which belong to the number that differs there. */
function numberBefore(chars: readonly string[], end: number): string {
  let start = end;
  while (isDigit(chars[start - 1])) start--;
  return chars.slice(start, end).join("");
}

/** By value, however many digits. */
function compareNumbers(a: string, b: string): number {
  const left = a.replace(/^0+/, "");
  const right = b.replace(/^0+/, "");
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}
