!f64x2u1 = memref<?x?xf64, strided<[?, 1], offset: ?>>
!f64x0 = memref<f64, strided<[], offset: ?>>
func.func @parallel(%x: !f64x2u1, %y: !f64x2u1, %total: !f64x0) -> i64 {
  %c0 = arith.constant 0 : index
  %x_n0 = memref.dim %x, %c0 : !f64x2u1
  %y_n0 = memref.dim %y, %c0 : !f64x2u1
  %c8 = arith.constant 8 : index
  %x_base, %x_offset, %x_n0_2, %x_n1, %x_s0, %x_s1 = memref.extract_strided_metadata %x : !f64x2u1 -> memref<f64>, index, index, index, index, index
  %1 = "memref.extract_aligned_pointer_as_index"(%x) : (!f64x2u1) -> index
  %2 = arith.muli %x_offset, %c8 : index
  %3 = arith.addi %1, %2 : index
  %c1 = arith.constant 1 : index
  %4 = arith.subi %x_n0_2, %c1 : index
  %5 = arith.muli %4, %x_s0 : index
  %6 = arith.muli %5, %c8 : index
  %7 = arith.minsi %6, %c0 : index
  %8 = arith.maxsi %6, %c0 : index
  %9 = arith.addi %3, %7 : index
  %10 = arith.addi %3, %8 : index
  %11 = arith.subi %x_n1, %c1 : index
  %12 = arith.muli %11, %x_s1 : index
  %13 = arith.muli %12, %c8 : index
  %14 = arith.minsi %13, %c0 : index
  %15 = arith.maxsi %13, %c0 : index
  %16 = arith.addi %9, %14 : index
  %17 = arith.addi %10, %15 : index
  %18 = arith.cmpi eq, %x_n0_2, %c0 : index
  %19 = arith.cmpi eq, %x_n1, %c0 : index
  %20 = arith.ori %18, %19 : i1
  %21 = arith.addi %17, %c8 : index
  %y_base, %y_offset, %y_n0_2, %y_n1, %y_s0, %y_s1 = memref.extract_strided_metadata %y : !f64x2u1 -> memref<f64>, index, index, index, index, index
  %22 = "memref.extract_aligned_pointer_as_index"(%y) : (!f64x2u1) -> index
  %23 = arith.muli %y_offset, %c8 : index
  %24 = arith.addi %22, %23 : index
  %25 = arith.subi %y_n0_2, %c1 : index
  %26 = arith.muli %25, %y_s0 : index
  %27 = arith.muli %26, %c8 : index
  %28 = arith.minsi %27, %c0 : index
  %29 = arith.maxsi %27, %c0 : index
  %30 = arith.addi %24, %28 : index
  %31 = arith.addi %24, %29 : index
  %32 = arith.subi %y_n1, %c1 : index
  %33 = arith.muli %32, %y_s1 : index
  %34 = arith.muli %33, %c8 : index
  %35 = arith.minsi %34, %c0 : index
  %36 = arith.maxsi %34, %c0 : index
  %37 = arith.addi %30, %35 : index
  %38 = arith.addi %31, %36 : index
  %39 = arith.cmpi eq, %y_n0_2, %c0 : index
  %40 = arith.cmpi eq, %y_n1, %c0 : index
  %41 = arith.ori %39, %40 : i1
  %42 = arith.addi %38, %c8 : index
  %c0_i64 = arith.constant 0 : i64
  %c512_i64 = arith.constant 512 : i64
  %c256_i64 = arith.constant 256 : i64
  %c0_0_f64 = arith.constant 0.0 : f64
  %x_n1_1 = memref.dim %x, %c1 : !f64x2u1
  %c2_0_f64 = arith.constant 2.0 : f64
  %x_n0_1 = arith.index_cast %x_n0 : index to i64
  %y_n0_1 = arith.index_cast %y_n0 : index to i64
  %0 = arith.cmpi eq, %x_n0_1, %y_n0_1 : i64
  %43 = arith.cmpi ule, %21, %37 : index
  %44 = arith.cmpi ule, %42, %16 : index
  %45 = arith.cmpi eq, %3, %24 : index
  %46 = arith.cmpi eq, %x_n0_2, %y_n0_2 : index
  %47 = arith.cmpi eq, %x_n1, %y_n1 : index
  %48 = arith.cmpi eq, %x_s0, %y_s0 : index
  %49 = arith.cmpi eq, %x_s1, %y_s1 : index
  %50 = arith.andi %45, %46 : i1
  %51 = arith.andi %50, %47 : i1
  %52 = arith.andi %51, %48 : i1
  %53 = arith.andi %52, %49 : i1
  %54 = arith.ori %43, %44 : i1
  %55 = arith.ori %54, %20 : i1
  %56 = arith.ori %55, %41 : i1
  %57 = arith.ori %56, %53 : i1
  %58 = arith.select %57, %c0_i64, %c512_i64 : i64
  %59 = arith.select %0, %58, %c256_i64 : i64
  %60 = arith.cmpi eq, %59, %c0_i64 : i64
  %64 = scf.if %60 -> (i64) {
    %s = "scf.parallel"(%c0, %x_n0, %c1, %c0_0_f64) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
    ^bb0(%i: index):
      %t = "scf.parallel"(%c0, %x_n1_1, %c1, %c0_0_f64) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
      ^bb0(%j: index):
        %x_1 = memref.load %x[%i, %j] : !f64x2u1
        %61 = func.call @tp_mod_f64(%x_1, %c2_0_f64) : (f64, f64) -> f64
        memref.store %61, %y[%i, %j] : !f64x2u1
        %x_2 = memref.load %x[%i, %j] : !f64x2u1
        "scf.reduce"(%x_2) ({
        ^bb0(%a: f64, %b: f64):
          %62 = arith.addf %a, %b : f64
          scf.reduce.return %62 : f64
        }) : (f64) -> ()
      }) : (index, index, index, f64) -> (f64)
      "scf.reduce"(%t) ({
      ^bb0(%a_1: f64, %b_1: f64):
        %63 = arith.addf %a_1, %b_1 : f64
        scf.reduce.return %63 : f64
      }) : (f64) -> ()
    }) : (index, index, index, f64) -> (f64)
    memref.store %s, %total[] : !f64x0
    scf.yield %c0_i64 : i64
  } else {
    scf.yield %59 : i64
  }
  func.return %64 : i64
}
func.func private @tp_mod_f64(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %rest = func.call @fmod(%a, %b) : (f64, f64) -> f64
  %below = arith.cmpf olt, %b, %zero : f64
  %under = arith.cmpf olt, %rest, %zero : f64
  %apart = arith.xori %below, %under : i1
  %moved = arith.addf %rest, %b : f64
  %either = arith.select %apart, %moved, %rest : f64
  %signed = math.copysign %zero, %b : f64
  %nothing = arith.cmpf oeq, %rest, %zero : f64
  %some = arith.select %nothing, %signed, %either : f64
  %none = arith.cmpf oeq, %b, %zero : f64
  %r = arith.select %none, %rest, %some : f64
  func.return %r : f64
}
func.func private @fmod(f64, f64) -> f64
