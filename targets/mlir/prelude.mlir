// Operations that the dialects have no instruction for, each as a function; mlir_prelude.py copies what a kernel calls. Those
// that are one call of C's math library are not here: their functions, and the declaration of libm's, follow from the op table.
// A comment that begins with dtype kinds opens a section for those kinds. $D is the dtype's name, $T its type, $F libm's
// suffix, $LT its comparison, $MIN and $MAX its minimum and maximum, $ZERO, $ONE, $LOW, $HIGH and $INF its constants, $BITS
// its size and $LAST one less. Integers wrap; of undefined values (shifts too far, divisions by zero) nothing is made.

// f: Python's: the first, unless the second strictly wins
func.func private @tp_min_$D(%a: $T, %b: $T) -> $T {
  %wins = $LT %b, %a : $T
  %r = arith.select %wins, %b, %a : $T
  func.return %r : $T
}
// f
func.func private @tp_max_$D(%a: $T, %b: $T) -> $T {
  %wins = $LT %a, %b : $T
  %r = arith.select %wins, %b, %a : $T
  func.return %r : $T
}
// f: NumPy's: a NaN wins, a tie gives the second
func.func private @tp_minimum_$D(%a: $T, %b: $T) -> $T {
  %nan = arith.cmpf uno, %a, %a : $T
  %less = $LT %a, %b : $T
  %first = arith.ori %nan, %less : i1
  %r = arith.select %first, %a, %b : $T
  func.return %r : $T
}
// f
func.func private @tp_maximum_$D(%a: $T, %b: $T) -> $T {
  %nan = arith.cmpf uno, %a, %a : $T
  %more = $LT %b, %a : $T
  %first = arith.ori %nan, %more : i1
  %r = arith.select %first, %a, %b : $T
  func.return %r : $T
}
// f
func.func private @tp_relu_$D(%a: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %r = func.call @tp_maximum_$D(%a, %zero) : ($T, $T) -> $T
  func.return %r : $T
}
// iu
func.func private @tp_relu_$D(%a: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %r = $MAX %a, %zero : $T
  func.return %r : $T
}
// f
func.func private @tp_clamp_$D(%a: $T, %low: $T, %high: $T) -> $T {
  %raised = func.call @tp_max_$D(%a, %low) : ($T, $T) -> $T
  %r = func.call @tp_min_$D(%raised, %high) : ($T, $T) -> $T
  func.return %r : $T
}
// iu
func.func private @tp_clamp_$D(%a: $T, %low: $T, %high: $T) -> $T {
  %raised = $MAX %a, %low : $T
  %r = $MIN %raised, %high : $T
  func.return %r : $T
}

// iu
func.func private @tp_neg_$D(%a: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %r = arith.subi %zero, %a : $T
  func.return %r : $T
}
// i: 1 for a negative exponent
func.func private @tp_ipow_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %times = arith.maxsi %b, %zero : $T
  %r = math.ipowi %a, %times : $T
  func.return %r : $T
}
// u: ipowi's exponents have a sign; without their first bit powers of odd numbers are the same, and of even ones too as long
// as the exponent is large
func.func private @tp_ipow_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %high = arith.constant $HALF : $T
  %large = arith.constant $QUARTER : $T
  %beyond = arith.cmpi ugt, %b, %high : $T
  %low = arith.andi %b, %high : $T
  %more = arith.select %beyond, %large, %zero : $T
  %times = arith.ori %low, %more : $T
  %r = math.ipowi %a, %times : $T
  func.return %r : $T
}

// i: rounds down; by zero 0, and the smallest by -1 itself
func.func private @tp_floordiv_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %one = arith.constant $ONE : $T
  %minus = arith.constant -1 : $T
  %none = arith.cmpi eq, %b, %zero : $T
  %flips = arith.cmpi eq, %b, %minus : $T
  %special = arith.ori %none, %flips : i1
  %by = arith.select %special, %one, %b : $T
  %q = arith.floordivsi %a, %by : $T
  %flipped = arith.subi %zero, %a : $T
  %either = arith.select %flips, %flipped, %q : $T
  %r = arith.select %none, %zero, %either : $T
  func.return %r : $T
}
// u
func.func private @tp_floordiv_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %one = arith.constant $ONE : $T
  %none = arith.cmpi eq, %b, %zero : $T
  %by = arith.select %none, %one, %b : $T
  %q = arith.divui %a, %by : $T
  %r = arith.select %none, %zero, %q : $T
  func.return %r : $T
}
// f: NumPy's: the quotient that belongs to the remainder, not the floor of a rounded quotient
func.func private @tp_floordiv_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %one = arith.constant $ONE : $T
  %half = arith.constant 0.5 : $T
  %rest = func.call @fmod$F(%a, %b) : ($T, $T) -> $T
  %less = arith.subf %a, %rest : $T
  %cut = arith.divf %less, %b : $T
  %some = arith.cmpf une, %rest, %zero : $T
  %below = arith.cmpf olt, %b, %zero : $T
  %under = arith.cmpf olt, %rest, %zero : $T
  %apart = arith.xori %below, %under : i1
  %down = arith.andi %some, %apart : i1
  %lower = arith.subf %cut, %one : $T
  %q = arith.select %down, %lower, %cut : $T
  %floor = math.floor %q : $T
  %far = arith.subf %q, %floor : $T
  %up = arith.cmpf ogt, %far, %half : $T
  %higher = arith.addf %floor, %one : $T
  %whole = arith.select %up, %higher, %floor : $T
  %ratio = arith.divf %a, %b : $T
  %signed = math.copysign %zero, %ratio : $T
  %nothing = arith.cmpf oeq, %q, %zero : $T
  %either = arith.select %nothing, %signed, %whole : $T
  %none = arith.cmpf oeq, %b, %zero : $T
  %r = arith.select %none, %ratio, %either : $T
  func.return %r : $T
}
// i: the sign is the divisor's; by zero 0
func.func private @tp_mod_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %one = arith.constant $ONE : $T
  %minus = arith.constant -1 : $T
  %none = arith.cmpi eq, %b, %zero : $T
  %flips = arith.cmpi eq, %b, %minus : $T
  %special = arith.ori %none, %flips : i1
  %by = arith.select %special, %one, %b : $T
  %rest = arith.remsi %a, %by : $T
  %signs = arith.xori %rest, %by : $T
  %apart = arith.cmpi slt, %signs, %zero : $T
  %some = arith.cmpi ne, %rest, %zero : $T
  %other = arith.andi %apart, %some : i1
  %moved = arith.addi %rest, %by : $T
  %r = arith.select %other, %moved, %rest : $T
  func.return %r : $T
}
// u
func.func private @tp_mod_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %one = arith.constant $ONE : $T
  %none = arith.cmpi eq, %b, %zero : $T
  %by = arith.select %none, %one, %b : $T
  %r = arith.remui %a, %by : $T
  func.return %r : $T
}
// f
func.func private @tp_mod_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %rest = func.call @fmod$F(%a, %b) : ($T, $T) -> $T
  %below = arith.cmpf olt, %b, %zero : $T
  %under = arith.cmpf olt, %rest, %zero : $T
  %apart = arith.xori %below, %under : i1
  %moved = arith.addf %rest, %b : $T
  %either = arith.select %apart, %moved, %rest : $T
  %signed = math.copysign %zero, %b : $T
  %nothing = arith.cmpf oeq, %rest, %zero : $T
  %some = arith.select %nothing, %signed, %either : $T
  %none = arith.cmpf oeq, %b, %zero : $T
  %r = arith.select %none, %rest, %some : $T
  func.return %r : $T
}

// b
func.func private @tp_not_$D(%a: $T) -> $T {
  %on = arith.constant true
  %r = arith.xori %a, %on : $T
  func.return %r : $T
}
// iu
func.func private @tp_invert_$D(%a: $T) -> $T {
  %ones = arith.constant -1 : $T
  %r = arith.xori %a, %ones : $T
  func.return %r : $T
}
// iu: as NumPy shifts: everything out where the count is negative, or no bit of the type
func.func private @tp_shl_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %bits = arith.constant $BITS : $T
  %last = arith.constant $LAST : $T
  %fits = arith.cmpi ult, %b, %bits : $T
  %by = arith.andi %b, %last : $T
  %moved = arith.shli %a, %by : $T
  %r = arith.select %fits, %moved, %zero : $T
  func.return %r : $T
}
// i
func.func private @tp_shr_$D(%a: $T, %b: $T) -> $T {
  %last = arith.constant $LAST : $T
  %by = arith.minui %b, %last : $T
  %r = arith.shrsi %a, %by : $T
  func.return %r : $T
}
// u
func.func private @tp_shr_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %bits = arith.constant $BITS : $T
  %last = arith.constant $LAST : $T
  %fits = arith.cmpi ult, %b, %bits : $T
  %by = arith.andi %b, %last : $T
  %moved = arith.shrui %a, %by : $T
  %r = arith.select %fits, %moved, %zero : $T
  func.return %r : $T
}
// iu: by a count of any size and sign
func.func private @tp_rotl_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %last = arith.constant $LAST : $T
  %by = arith.andi %b, %last : $T
  %less = arith.subi %zero, %b : $T
  %back = arith.andi %less, %last : $T
  %up = arith.shli %a, %by : $T
  %down = arith.shrui %a, %back : $T
  %r = arith.ori %up, %down : $T
  func.return %r : $T
}
// iu
func.func private @tp_rotr_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %less = arith.subi %zero, %b : $T
  %r = func.call @tp_rotl_$D(%a, %less) : ($T, $T) -> $T
  func.return %r : $T
}
// iu
func.func private @tp_clmul_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %one = arith.constant $ONE : $T
  %first = arith.constant 0 : index
  %next = arith.constant 1 : index
  %bits = arith.constant $BITS : index
  %r = scf.for %k = %first to %bits step %next iter_args(%sum = %zero) -> ($T) {
    %by = arith.index_cast %k : index to $T
    %down = arith.shrui %b, %by : $T
    %bit = arith.andi %down, %one : $T
    %on = arith.cmpi ne, %bit, %zero : $T
    %up = arith.shli %a, %by : $T
    %term = arith.select %on, %up, %zero : $T
    %more = arith.xori %sum, %term : $T
    scf.yield %more : $T
  }
  func.return %r : $T
}
// i
func.func private @tp_mul_high_$D(%a: $T, %b: $T) -> $T {
  %low, %r = arith.mulsi_extended %a, %b : $T
  func.return %r : $T
}
// u
func.func private @tp_mul_high_$D(%a: $T, %b: $T) -> $T {
  %low, %r = arith.mului_extended %a, %b : $T
  func.return %r : $T
}
// iu
func.func private @tp_first_set_$D(%a: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %minus = arith.constant -1 : $T
  %none = arith.cmpi eq, %a, %zero : $T
  %place = math.cttz %a : $T
  %r = arith.select %none, %minus, %place : $T
  func.return %r : $T
}

// i: whether the exact result does not fit
func.func private @tp_add_over_$D(%a: $T, %b: $T) -> i1 {
  %zero = arith.constant $ZERO : $T
  %sum = arith.addi %a, %b : $T
  %x = arith.xori %a, %sum : $T
  %y = arith.xori %b, %sum : $T
  %both = arith.andi %x, %y : $T
  %r = arith.cmpi slt, %both, %zero : $T
  func.return %r : i1
}
// u
func.func private @tp_add_over_$D(%a: $T, %b: $T) -> i1 {
  %sum = arith.addi %a, %b : $T
  %r = arith.cmpi ult, %sum, %a : $T
  func.return %r : i1
}
// i
func.func private @tp_sub_over_$D(%a: $T, %b: $T) -> i1 {
  %zero = arith.constant $ZERO : $T
  %rest = arith.subi %a, %b : $T
  %x = arith.xori %a, %b : $T
  %y = arith.xori %a, %rest : $T
  %both = arith.andi %x, %y : $T
  %r = arith.cmpi slt, %both, %zero : $T
  func.return %r : i1
}
// u
func.func private @tp_sub_over_$D(%a: $T, %b: $T) -> i1 {
  %r = arith.cmpi ult, %a, %b : $T
  func.return %r : i1
}
// i
func.func private @tp_mul_over_$D(%a: $T, %b: $T) -> i1 {
  %last = arith.constant $LAST : $T
  %low, %high = arith.mulsi_extended %a, %b : $T
  %sign = arith.shrsi %low, %last : $T
  %r = arith.cmpi ne, %high, %sign : $T
  func.return %r : i1
}
// u
func.func private @tp_mul_over_$D(%a: $T, %b: $T) -> i1 {
  %zero = arith.constant $ZERO : $T
  %low, %high = arith.mului_extended %a, %b : $T
  %r = arith.cmpi ne, %high, %zero : $T
  func.return %r : i1
}
// i: at the bound that it would pass, which is the lowest where the first operand is negative
func.func private @tp_saturating_add_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %low = arith.constant $LOW : $T
  %high = arith.constant $HIGH : $T
  %sum = arith.addi %a, %b : $T
  %over = func.call @tp_add_over_$D(%a, %b) : ($T, $T) -> i1
  %below = arith.cmpi slt, %a, %zero : $T
  %bound = arith.select %below, %low, %high : $T
  %r = arith.select %over, %bound, %sum : $T
  func.return %r : $T
}
// u
func.func private @tp_saturating_add_$D(%a: $T, %b: $T) -> $T {
  %high = arith.constant -1 : $T
  %sum = arith.addi %a, %b : $T
  %over = arith.cmpi ult, %sum, %a : $T
  %r = arith.select %over, %high, %sum : $T
  func.return %r : $T
}
// i
func.func private @tp_saturating_sub_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %low = arith.constant $LOW : $T
  %high = arith.constant $HIGH : $T
  %rest = arith.subi %a, %b : $T
  %over = func.call @tp_sub_over_$D(%a, %b) : ($T, $T) -> i1
  %below = arith.cmpi slt, %a, %zero : $T
  %bound = arith.select %below, %low, %high : $T
  %r = arith.select %over, %bound, %rest : $T
  func.return %r : $T
}
// u
func.func private @tp_saturating_sub_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %rest = arith.subi %a, %b : $T
  %over = arith.cmpi ult, %a, %b : $T
  %r = arith.select %over, %zero, %rest : $T
  func.return %r : $T
}
// i
func.func private @tp_saturating_mul_$D(%a: $T, %b: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %low = arith.constant $LOW : $T
  %high = arith.constant $HIGH : $T
  %product = arith.muli %a, %b : $T
  %over = func.call @tp_mul_over_$D(%a, %b) : ($T, $T) -> i1
  %signs = arith.xori %a, %b : $T
  %below = arith.cmpi slt, %signs, %zero : $T
  %bound = arith.select %below, %low, %high : $T
  %r = arith.select %over, %bound, %product : $T
  func.return %r : $T
}
// u
func.func private @tp_saturating_mul_$D(%a: $T, %b: $T) -> $T {
  %high = arith.constant -1 : $T
  %product = arith.muli %a, %b : $T
  %over = func.call @tp_mul_over_$D(%a, %b) : ($T, $T) -> i1
  %r = arith.select %over, %high, %product : $T
  func.return %r : $T
}

// iu
func.func private @tp_sign_$D(%a: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %above = $LT %zero, %a : $T
  %below = $LT %a, %zero : $T
  %plus = arith.extui %above : i1 to $T
  %minus = arith.extui %below : i1 to $T
  %r = arith.subi %plus, %minus : $T
  func.return %r : $T
}
// f
func.func private @tp_sign_$D(%a: $T) -> $T {
  %zero = arith.constant $ZERO : $T
  %above = $LT %zero, %a : $T
  %below = $LT %a, %zero : $T
  %plus = arith.uitofp %above : i1 to $T
  %minus = arith.uitofp %below : i1 to $T
  %sign = arith.subf %plus, %minus : $T
  %nan = arith.cmpf uno, %a, %a : $T
  %r = arith.select %nan, %a, %sign : $T
  func.return %r : $T
}
// f
func.func private @tp_isinf_$D(%a: $T) -> i1 {
  %inf = arith.constant $INF : $T
  %size = math.absf %a : $T
  %r = arith.cmpf oeq, %size, %inf : $T
  func.return %r : i1
}
// f
func.func private @tp_isfinite_$D(%a: $T) -> i1 {
  %inf = arith.constant $INF : $T
  %size = math.absf %a : $T
  %r = arith.cmpf olt, %size, %inf : $T
  func.return %r : i1
}
// f
func.func private @tp_signbit_$D(%a: $T) -> i1 {
  %zero = arith.constant $ZERO : $T
  %one = arith.constant $ONE : $T
  %sign = math.copysign %one, %a : $T
  %r = arith.cmpf olt, %sign, %zero : $T
  func.return %r : i1
}
// f: rounded twice
func.func private @tp_rsqrt_$D(%a: $T) -> $T {
  %one = arith.constant $ONE : $T
  %root = math.sqrt %a : $T
  %r = arith.divf %one, %root : $T
  func.return %r : $T
}
// f
func.func private @tp_sigmoid_$D(%a: $T) -> $T {
  %one = arith.constant $ONE : $T
  %less = arith.negf %a : $T
  %power = math.exp %less : $T
  %sum = arith.addf %one, %power : $T
  %r = arith.divf %one, %sum : $T
  func.return %r : $T
}

// f: parts of functions of complex numbers
func.func private @tp_cexp_re_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.exp %z : complex<$T>
  %r = complex.re %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_cexp_im_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.exp %z : complex<$T>
  %r = complex.im %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_clog_re_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.log %z : complex<$T>
  %r = complex.re %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_clog_im_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.log %z : complex<$T>
  %r = complex.im %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_csqrt_re_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.sqrt %z : complex<$T>
  %r = complex.re %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_csqrt_im_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.sqrt %z : complex<$T>
  %r = complex.im %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_csin_re_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.sin %z : complex<$T>
  %r = complex.re %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_csin_im_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.sin %z : complex<$T>
  %r = complex.im %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_ccos_re_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.cos %z : complex<$T>
  %r = complex.re %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_ccos_im_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.cos %z : complex<$T>
  %r = complex.im %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_ctan_re_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.tan %z : complex<$T>
  %r = complex.re %w : complex<$T>
  func.return %r : $T
}
// f
func.func private @tp_ctan_im_$D(%a: $T, %b: $T) -> $T {
  %z = complex.create %a, %b : complex<$T>
  %w = complex.tan %z : complex<$T>
  %r = complex.im %w : complex<$T>
  func.return %r : $T
}
