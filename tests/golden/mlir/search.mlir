!f64x1 = memref<?xf64, strided<[?], offset: ?>>
!f64x1u0 = memref<?xf64, strided<[1], offset: ?>>
!i64x0 = memref<i64, strided<[], offset: ?>>
func.func @search(%x: !f64x1, %out: !f64x1u0, %count: !i64x0) -> i64 {
  %c0_i64 = arith.constant 0 : i64
  %c0 = arith.constant 0 : index
  %x_n0 = memref.dim %x, %c0 : !f64x1
  %c1 = arith.constant 1 : index
  %cm1 = arith.constant -1 : index
  %true = arith.constant true
  %false = arith.constant false
  %c1_0_f64 = arith.constant 1.0 : f64
  %c0_0_f64 = arith.constant 0.0 : f64
  %c0_5_f64 = arith.constant 0.5 : f64
  %c1_i64 = arith.constant 1 : i64
  %0 = arith.subi %x_n0, %c1 : index
  %1 = arith.subi %0, %cm1 : index
  %2 = arith.ceildivsi %1, %c1 : index
  %i_3, %go_2, %k_2, %returned_2 = scf.while (%i = %c0, %go = %true, %k = %c0_i64, %returned = %false) : (index, i1, i64, i1) -> (index, i1, i64, i1) {
    %3 = arith.cmpi slt, %i, %2 : index
    %4 = arith.andi %3, %go : i1
    scf.condition(%4) %i, %go, %k, %returned : index, i1, i64, i1
  } do {
  ^bb0(%i_1: index, %go_1: i1, %k_1: i64, %returned_1: i1):
    %5 = arith.muli %i_1, %c1 : index
    %6 = arith.subi %0, %5 : index
    %x_1 = memref.load %x[%6] : !f64x1
    %7 = arith.cmpf ogt, %x_1, %c1_0_f64 : f64
    %8, %9 = scf.if %7 -> (i1, i1) {
      scf.yield %false, %true : i1, i1
    } else {
      scf.yield %true, %returned_1 : i1, i1
    }
    %19, %20, %21, %22 = scf.if %8 -> (index, i1, i64, i1) {
      %x_2 = memref.load %x[%6] : !f64x1
      %10 = arith.cmpf olt, %x_2, %c0_0_f64 : f64
      %11 = arith.cmpi ne, %10, %true : i1
      %15, %16, %17, %18 = scf.if %11 -> (index, i1, i64, i1) {
        %x_3 = memref.load %x[%6] : !f64x1
        %12 = arith.cmpf ogt, %x_3, %c0_5_f64 : f64
        %14 = scf.if %12 -> (i64) {
          %x_4 = memref.load %x[%6] : !f64x1
          %k_1_1 = arith.index_cast %k_1 : i64 to index
          memref.store %x_4, %out[%k_1_1] : !f64x1u0
          %13 = arith.addi %k_1, %c1_i64 : i64
          scf.yield %13 : i64
        } else {
          scf.yield %k_1 : i64
        }
        %i_2 = arith.addi %i_1, %c1 : index
        scf.yield %i_2, %true, %14, %9 : index, i1, i64, i1
      } else {
        scf.yield %i_1, %11, %k_1, %9 : index, i1, i64, i1
      }
      scf.yield %15, %16, %17, %18 : index, i1, i64, i1
    } else {
      scf.yield %i_1, %8, %k_1, %9 : index, i1, i64, i1
    }
    scf.yield %19, %20, %21, %22 : index, i1, i64, i1
  }
  %23 = arith.cmpi ne, %returned_2, %true : i1
  %24 = scf.if %23 -> (i64) {
    memref.store %k_2, %count[] : !i64x0
    scf.yield %c0_i64 : i64
  } else {
    scf.yield %c0_i64 : i64
  }
  func.return %24 : i64
}
