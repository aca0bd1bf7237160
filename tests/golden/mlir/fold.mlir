!f64x1u0 = memref<?xf64, strided<[1], offset: ?>>
!f64x0 = memref<f64, strided<[], offset: ?>>
func.func @fold(%x: !f64x1u0, %total: !f64x0, %peak: !f64x0) -> i64 {
  %c0_i64 = arith.constant 0 : i64
  %c0 = arith.constant 0 : index
  %x_n0 = memref.dim %x, %c0 : !f64x1u0
  %c1 = arith.constant 1 : index
  %c0_0_f64 = arith.constant 0.0 : f64
  %c0xfff0000000000000_f64 = arith.constant 0xfff0000000000000 : f64
  %s_1, %m_1 = scf.for %i = %c0 to %x_n0 step %c1 iter_args(%s = %c0_0_f64, %m = %c0xfff0000000000000_f64) -> (f64, f64) {
    %x_1 = memref.load %x[%i] : !f64x1u0
    %x_2 = memref.load %x[%i] : !f64x1u0
    %0 = arith.mulf %x_1, %x_2 : f64
    %1 = arith.addf %s, %0 : f64
    %x_3 = memref.load %x[%i] : !f64x1u0
    %2 = func.call @tp_max_f64(%m, %x_3) : (f64, f64) -> f64
    scf.yield %1, %2 : f64, f64
  }
  memref.store %s_1, %total[] : !f64x0
  memref.store %m_1, %peak[] : !f64x0
  func.return %c0_i64 : i64
}
func.func private @tp_max_f64(%a: f64, %b: f64) -> f64 {
  %wins = arith.cmpf olt, %a, %b : f64
  %r = arith.select %wins, %b, %a : f64
  func.return %r : f64
}
